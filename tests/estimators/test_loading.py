"""A model folder opens as the estimator of its task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gtea as package
from gtea.errors import ModelError
from gtea.estimators.classifier import GTEAClassifier
from gtea.models.model_folder import save_model
from gtea.store.store import Store

QUICK: dict[str, Any] = {"d_node": 6, "d_edge": 4, "fanout": 3, "max_events": 4, "epochs": 1, "device": "cpu"}


def test_load_gives_each_task_its_estimator(store: Store, examples: Any, tmp_path: Path) -> None:
    GTEAClassifier(store, **QUICK).fit(*examples).save(tmp_path / "m")
    assert isinstance(package.load(tmp_path / "m", store), GTEAClassifier)
    with pytest.raises(ModelError, match="no such model"):
        package.load(tmp_path / "nothing", store)


def test_a_task_that_is_not_known_is_refused(store: Store, examples: Any, tmp_path: Path) -> None:
    model = GTEAClassifier(store, model="tree", **QUICK).fit(*examples)
    saved = replace(model.model_.saved, config={**model.model_.saved.config, "task": "weather"})
    save_model(tmp_path / "m", saved, "A card.")
    with pytest.raises(ModelError, match=r"config\.task must be one of nodes, links \(got 'weather'\)"):
        package.load(tmp_path / "m", store)
