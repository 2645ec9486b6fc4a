"""Evaluating a saved model on labelled accounts or pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

import numpy as np
import torch
from numpy.typing import NDArray

from gtea.errors import DataError, UsageError
from gtea.scoring.options import EXACT, ScoringOptions
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.store.store import Store
from gtea.tasks.labels import read_labels
from gtea.tasks.metrics import node_metrics, pair_metrics
from gtea.tasks.pairs import Pairs, read_pairs


class EvaluationSummary(TypedDict):
    """Metrics and what they were measured on, ready for JSON."""

    accounts: NotRequired[int]
    """How many were evaluated, if accounts were."""
    pairs: NotRequired[int]
    """How many were evaluated, if pairs were."""
    as_of: int
    as_of_date: str
    sampled: bool
    metrics: dict[str, float]
    labels: NotRequired[dict[str, Any]]
    """Which labels were read and left out."""
    input: NotRequired[dict[str, Any]]
    """Which pairs were read and left out."""


def evaluate_accounts(
    model: Path,
    store: Path,
    labels: Any,
    *,
    as_of: str | None = None,
    unknown: Literal["error", "skip"] = "error",
    options: ScoringOptions = EXACT,
    device: torch.device,
) -> EvaluationSummary:
    """The model's metrics on labelled accounts as of a time."""
    opened, ready = Store.open(store), NodeModel.open(model, device)
    options = ready.supported(options)
    found = read_labels(labels, opened, unknown=unknown)
    unknown_classes = [name for name in found.classes if name not in ready.classes]
    if unknown_classes:
        raise DataError(
            f"labels: the model knows the classes {', '.join(map(repr, ready.classes))} "
            f"(got {', '.join(map(repr, unknown_classes))}). Leave such labels out, or train on them."
        )
    cut = opened.as_of(as_of).cut
    probabilities = ready.probabilities(opened, cut, found.nodes, options)
    places = np.array([ready.classes.index(name) for name in found.classes])
    threshold = None if ready.threshold is None else ready.threshold.value
    metrics = node_metrics(places[found.targets], probabilities, ready.classes, ready.positive, threshold)
    return EvaluationSummary(
        accounts=len(found),
        as_of=cut,
        as_of_date=opened.date(cut),
        sampled=options.sampled,
        metrics=metrics,
        labels=found.report,
    )


def evaluate_pairs(
    model: Path,
    store: Path,
    pairs: Any,
    *,
    positive: str | None = None,
    as_of: str | None = None,
    unknown: Literal["error", "skip"] = "error",
    options: ScoringOptions = EXACT,
    device: torch.device,
) -> EvaluationSummary:
    """The model's metrics on labelled pairs as of a time.

    Accuracy and macro-F1 are at the model's own threshold.

    Args:
        positive: The label that means a link; by default the second by name, as in 0 and 1.
    """
    opened, ready = Store.open(store), LinkModel.open(model, device)
    options = ready.supported(options)
    found = read_pairs(pairs, opened, unknown=unknown)
    truth = _links(found, positive)
    cut = opened.as_of(as_of).cut
    probabilities = ready.probabilities(opened, cut, found.src, found.dst, options)
    # Models of gtea 0.1 have a threshold of accuracy among their metrics.
    threshold = ready.saved.metrics.get("threshold", 0.5) if ready.threshold is None else ready.threshold.value
    metrics = pair_metrics(truth, probabilities, threshold)
    return EvaluationSummary(
        pairs=len(found),
        as_of=cut,
        as_of_date=opened.date(cut),
        sampled=options.sampled,
        metrics=metrics,
        input=found.report,
    )


def _links(found: Pairs, positive: str | None) -> NDArray[np.bool_]:
    """Whether each pair's label means a link."""
    if found.targets is None or len(found.classes) != 2:
        raise DataError(
            "pairs: must have a column label with two classes, link and no link "
            f"(got {', '.join(map(repr, found.classes)) or 'no such column'}). Add it, such as 1 and 0."
        )
    if positive is not None and positive not in found.classes:
        raise UsageError(
            f"--positive: must be one of the labels {', '.join(map(repr, found.classes))} (got {positive!r})."
        )
    return np.asarray(found.targets == found.classes.index(positive or found.classes[1]))
