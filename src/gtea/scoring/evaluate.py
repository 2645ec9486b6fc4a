"""Judging a saved model by labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from gtea.errors import DataError
from gtea.scoring.model import NodeModel
from gtea.scoring.way import EXACT, Way
from gtea.store.store import Store
from gtea.tasks.labels import read_labels
from gtea.tasks.metrics import node_metrics


def evaluate(
    model: Path,
    store: Path,
    labels: Any,
    *,
    as_of: str | None = None,
    unknown: Literal["error", "skip"] = "error",
    way: Way = EXACT,
    device: torch.device,
) -> dict[str, Any]:
    """The model's metrics on labelled accounts as of a moment."""
    opened, ready = Store.open(store), NodeModel.open(model, device)
    found = read_labels(labels, opened, unknown=unknown)
    strange = [name for name in found.classes if name not in ready.classes]
    if strange:
        raise DataError(
            f"labels: the model knows the classes {', '.join(map(repr, ready.classes))} "
            f"(got {', '.join(map(repr, strange))}). Leave such labels out, or train on them."
        )
    cut = opened.as_of(as_of).cut
    probabilities = ready.probabilities(opened, cut, found.nodes, way)
    places = np.array([ready.classes.index(name) for name in found.classes])
    metrics = node_metrics(places[found.targets], probabilities, ready.classes, ready.positive)
    facts = {"accounts": len(found), "as_of": cut, "as_of_date": opened.date(cut), "sampled": way.sampled}
    return {**facts, "metrics": metrics, "labels": found.report}
