"""What comes with gtea for its reproductions: settings that can be, in their order, and the paper's own numbers."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any, get_args

import pytest

from gtea.config import RunConfig
from gtea.datasets.catalog import DATASETS
from gtea.experiments.paper import settings
from gtea.experiments.paper.paper_results import TABLE1_MODELS
from gtea.experiments.paper.settings import with_packaged_settings
from gtea.experiments.runs.generated import PAYMENTS
from gtea.models.registry import BASELINES, GTEA_MODELS, default_config, model_config
from gtea.tasks.link_split import LinkProtocol

NAMES = (*DATASETS, PAYMENTS)


def packaged(name: str) -> dict[str, Any]:
    return tomllib.loads(files("gtea.experiments.paper").joinpath(name).read_text(encoding="utf-8"))


def test_every_entry_is_of_something_there_is_and_can_be() -> None:
    for data, entry in packaged("settings.toml").items():
        assert data in NAMES
        assert set(entry) <= {"paper", "temporal"}
        task = "nodes" if data == PAYMENTS else DATASETS[data].task
        for protocol in entry.keys() & set(get_args(LinkProtocol)):
            assert set(entry[protocol]) <= {"all", "gtea", *GTEA_MODELS, *BASELINES}
            for model in (*TABLE1_MODELS, "tree", *(["edgebank"] if task == "links" else [])):
                with_packaged_settings(default_config(model_config(model), task), data, protocol, model)


def test_the_nearer_to_the_model_the_stronger(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = {
        "all": {"train": {"lr": 0.1, "epochs": 7}, "model": {"d_node": 8}},
        "gtea": {"train": {"lr": 0.2}},
        "gtea-l+t": {"train": {"lr": 0.3}},
    }
    monkeypatch.setattr(settings, "_packaged", lambda: {"mine": {"paper": layers}})
    rates = {
        model: with_packaged_settings(RunConfig(), "mine", "paper", model).train.lr
        for model in ("gcn", "gtea-l", "gtea-l+t")
    }
    assert rates == {"gcn": 0.1, "gtea-l": 0.2, "gtea-l+t": 0.3}
    found = with_packaged_settings(RunConfig(), "mine", "paper", "gtea-l+t")
    assert (found.train.epochs, found.model.d_node) == (7, 8)
    assert with_packaged_settings(RunConfig(), "mine", "temporal", "gcn") == RunConfig()
