"""Labels that came in, against the probabilities that were there before they did.

A label with ``known_at`` is compared with the score as of the day before it became known: what was found out about an
account, and what was done to it, must not be part of its own prediction. Labels without ``known_at`` are compared with
the score as of the cut, as ``gtea evaluate`` does. Accounts whose labels the model keeps from its training are left
out; a model that keeps none can't tell them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import DataError, UsageError
from gtea.report.known_labels import KnownLabels
from gtea.scoring.options import ScoringOptions
from gtea.scoring.scorer import NodeModel
from gtea.store.view import View
from gtea.tasks.labels import Labels, read_labels
from gtea.tasks.metrics import average_precision, brier, expected_calibration_error, reliability_curve


def check_labels(source: Any, model: NodeModel, view: View, day_length: int, options: ScoringOptions) -> dict[str, Any]:
    """How well the probabilities fit the labels that are known before a view's cut, ready for JSON."""
    if model.positive is None:
        raise UsageError("--labels: needs a model of two classes (this one has more). Leave it out.")
    store = view.store
    labels = read_labels(source, store, unknown="skip")
    foreign = [name for name in labels.classes if name not in model.classes]
    if foreign:
        raise DataError(
            f"labels: the model knows the classes {', '.join(map(repr, model.classes))} "
            f"(got {', '.join(map(repr, foreign))}). Leave such labels out."
        )
    trained = KnownLabels(store, model.preprocessing.neighbour_labels).of(labels.nodes.tolist())
    keeps = model.preprocessing.neighbour_labels is not None
    fresh = np.array([label is None for label in trained], dtype=bool)
    known = np.ones(len(labels), dtype=bool) if labels.known_at is None else labels.known_at < view.cut
    cuts = _cuts(labels, view.cut, day_length)
    seen = np.zeros(len(labels), dtype=bool)
    for cut in np.unique(cuts):
        at = cuts == cut
        seen[at] = store.as_of(int(cut)).has_events(labels.nodes[at])
    used = np.flatnonzero(fresh & known & seen)
    report = {
        "labels": len(labels),
        "used": len(used),
        "trained_with": int((~fresh).sum()) if keeps else None,
        "known_later": int((fresh & ~known).sum()),
        "no_event_before": int((fresh & known & ~seen).sum()),
        "unknown": labels.report["unknown"]["accounts"],
    }
    if not len(used):
        return report
    probabilities = np.empty(len(used))
    for cut in np.unique(cuts[used]):
        at = cuts[used] == cut
        rows = model.probabilities(store, int(cut), labels.nodes[used][at], options)
        probabilities[at] = rows[:, model.positive_column]
    truth = np.array([labels.classes[target] == model.positive for target in labels.targets[used]])
    return report | _figures(truth, probabilities)


def _cuts(labels: Labels, cut: int, day_length: int) -> NDArray[np.int64]:
    if labels.known_at is None:
        return np.full(len(labels), cut, dtype=np.int64)
    return np.asarray(labels.known_at // day_length * day_length)


def _figures(truth: NDArray[np.bool_], probabilities: NDArray[np.float64]) -> dict[str, Any]:
    curve = reliability_curve(truth, probabilities)
    error = float(np.sqrt((probabilities * (1 - probabilities)).sum()) / len(truth))
    figures: dict[str, Any] = {
        "positives": int(truth.sum()),
        "observed": float(truth.mean()),
        "predicted": float(probabilities.mean()),
        "standard_error": error,
        "brier": brier(truth, probabilities),
        "calibration_error": expected_calibration_error(truth, probabilities),
        "reliability": {
            "predicted": curve.mean_predicted.tolist(),
            "observed": curve.observed.tolist(),
            "counts": curve.counts.tolist(),
        },
    }
    if 0 < truth.sum() < len(truth):
        figures["average_precision"] = average_precision(truth, probabilities)
    return figures
