"""Evaluate a trained model on its validation and test parts: corrected probabilities, a threshold, metrics.

What is chosen, is chosen on the validation part: the weights of a hybrid's models, the calibration and the threshold.
The test part is scored once, with all of them in place.

In a split of accounts by time, this is done with the validation accounts as of the cut of the test part: as of their
own cut most have only just appeared, and what will be scored has not. Their labels are known by then, so nothing is
used that is not known when the test part is scored. The validation metrics are those as of their own cut.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gtea.models.blend import SAME_TIME, Blend, Trust, blend_weights
from gtea.tasks.metrics import (
    Floats,
    average_precision,
    brier,
    expected_calibration_error,
    log_likelihood,
    reliability_curve,
)
from gtea.tasks.priors import softmax
from gtea.tasks.probability_correction import ProbabilityCorrection, fit_correction
from gtea.tasks.thresholds import Threshold, half_threshold, macro_f1_threshold, precision_threshold
from gtea.tasks.uncertainty import bootstrap_interval
from gtea.training.results import TaskMetrics

_NUM_RESAMPLES = 200
VALIDATION_LATER = "validation later"
"""The validation part as of the cut of the test part."""


@dataclass(frozen=True)
class PartPredictions:
    """The examples of a part and their raw probabilities."""

    names: dict[str, pa.Array]
    """Columns that name the examples: account, or src and dst."""
    targets: NDArray[np.int64]
    probabilities: Floats
    """[num_examples, num_classes]."""
    halves: dict[str, Floats] = field(default_factory=dict)
    """A hybrid's network and its trees, each alone."""


@dataclass(frozen=True)
class Evaluation:
    """What is known of a model after training."""

    metrics: TaskMetrics
    correction: ProbabilityCorrection
    threshold: Threshold | None
    """None with more than two classes."""
    predictions: pa.Table
    """One row per validation and test example."""


@dataclass(frozen=True)
class Measures:
    """What the evaluation must know of the task."""

    classes: Sequence[str]
    positive: int | None
    """The place of the positive of two classes."""
    train_counts: Floats
    """The number, or total weight, of the training examples of each class."""
    class_weights: Floats | None
    metrics: Callable[[PartPredictions, Floats, float | None], dict[str, float]]
    """The metrics of a part, given its probabilities and the threshold of the positive class."""
    precision: float | None = None
    """The precision that the threshold must reach."""
    prevalence: float | None = None
    """The share of positives in the population, if the labels were sampled: where the precision must be reached."""
    alike: bool = True
    """Whether the validation part resembles what will be scored, so that a threshold carries over."""
    later: bool = False
    """Whether the validation part is of a later time than training."""
    balanced: bool = False
    """Whether classes are equally frequent by construction."""


def blended(
    blend: Blend, by_model: Mapping[str, Floats], targets: NDArray[np.int64], trust: Trust = SAME_TIME
) -> dict[str, tuple[Floats, dict[str, Floats]]]:
    """Fit a hybrid's blend to the validation part; returns the probabilities and those of both halves, by part.

    Args:
        blend: The blend of the model that is saved.
        by_model: For each part, log probabilities of each model, [num_examples, num_models, num_classes]. If the
            validation part is there as of the cut of the test part, too, that is what the blend is fitted to.
        targets: The classes of the validation examples.
        trust: How far the validation part speaks for what will be scored.
    """
    rows = by_model.get(VALIDATION_LATER, by_model["validation"])
    blend.fit(rows, targets, [0], trust)
    weights = blend.weights.cpu().numpy()
    # The trees alone get weights of their own: what they would have had without the network.
    tree_weights = blend_weights(rows[:, 1:], targets, (), trust)
    return {
        part: (
            softmax(np.einsum("k,nkc->nc", weights, rows)),
            {
                "network": softmax(rows[:, 0]),
                "trees": softmax(np.einsum("k,nkc->nc", tree_weights, rows[:, 1:])),
            },
        )
        for part, rows in by_model.items()
    }


def evaluate_parts(
    measures: Measures,
    validation: PartPredictions,
    test: PartPredictions | None,
    validation_later: PartPredictions | None = None,
) -> Evaluation:
    """Fit correction and threshold to the validation part, and measure both parts.

    Args:
        measures: What must be known of the task.
        validation: The validation part as of its own cut.
        test: The test part; None if the caller evaluates the model itself.
        validation_later: The validation part as of the cut of the test part; None if that is its own, or unknown.
    """
    seen = validation_later or validation
    correction = fit_correction(
        measures.train_counts,
        measures.class_weights,
        seen.targets,
        seen.probabilities,
        later=measures.later,
        balanced=measures.balanced,
    )
    parts = {"validation": validation} if test is None else {"validation": validation, "test": test}
    corrected = {name: correction.apply(part.probabilities) for name, part in parts.items()}
    threshold = _threshold(measures, seen.targets, correction.apply(seen.probabilities))
    limit = None if threshold is None else threshold.value
    metrics = TaskMetrics(validation=measures.metrics(validation, corrected["validation"], limit))
    if test is not None:
        metrics["test"] = measures.metrics(test, corrected["test"], limit)
        for half, probabilities in test.halves.items():
            metrics[f"test_{half}_alone"] = measures.metrics(test, probabilities, None)  # type: ignore[literal-required]
        if "trees" in test.halves:
            metrics["against_trees"] = _difference(measures, test.targets, corrected["test"], test.halves["trees"])
    metrics["calibration"] = {
        name: {
            "before": _calibration_figures(measures, part.targets, part.probabilities),
            "after": _calibration_figures(measures, part.targets, corrected[name]),
        }
        for name, part in parts.items()
    }
    tables = [_table(measures, name, part, corrected[name]) for name, part in parts.items()]
    return Evaluation(metrics, correction, threshold, pa.concat_tables(tables))


def _threshold(measures: Measures, targets: NDArray[np.int64], probabilities: Floats) -> Threshold | None:
    """The threshold of the positive class, chosen on the validation part.

    A validation part that differs from what will be scored can't tell the best threshold. One half of a calibrated
    probability can be defended anywhere.
    """
    if measures.positive is None:
        return None
    truth, chances = targets == measures.positive, probabilities[:, measures.positive]
    if measures.precision is not None:
        odds = _odds(measures, measures.positive)
        return precision_threshold(truth, chances, measures.precision, odds=odds)
    one_class = truth.all() or not truth.any()
    choose = half_threshold if one_class or not measures.alike else macro_f1_threshold
    return choose(truth, chances)


def _odds(measures: Measures, positive: int) -> float:
    """What the odds of positives in training are multiplied by in the population."""
    if measures.prevalence is None:
        return 1.0
    sampled = measures.train_counts[positive] / measures.train_counts.sum()
    return float(measures.prevalence / (1 - measures.prevalence) / (sampled / (1 - sampled)))


def _difference(measures: Measures, targets: NDArray[np.int64], one: Floats, other: Floats) -> dict[str, Any]:
    """How far the model is ahead of its trees alone, with 95 % intervals over the test examples."""

    def ranking(chosen: NDArray[np.int64], first: Floats, second: Floats) -> float:
        if measures.positive is None:
            return float((first.argmax(1) == chosen).mean() - (second.argmax(1) == chosen).mean())
        truth = chosen == measures.positive
        return average_precision(truth, first[:, measures.positive]) - average_precision(
            truth, second[:, measures.positive]
        )

    def likelihood(chosen: NDArray[np.int64], first: Floats, second: Floats) -> float:
        return log_likelihood(chosen, first) - log_likelihood(chosen, second)

    name = "accuracy" if measures.positive is None else "average_precision"
    found = {}
    for metric, difference in ((name, ranking), ("log_likelihood", likelihood)):
        interval = bootstrap_interval(difference, targets, one, other, strata=targets, num_resamples=_NUM_RESAMPLES)
        found[metric] = {"difference": interval.value, "low": interval.low, "high": interval.high}
    return found


def _calibration_figures(measures: Measures, targets: NDArray[np.int64], probabilities: Floats) -> dict[str, Any]:
    """Log loss, Brier score, calibration error and reliability curve of the positive class.

    With more than two classes, those of the predicted class and whether it is right, without a Brier score.
    """
    figures: dict[str, Any] = {"log_loss": -log_likelihood(targets, probabilities)}
    if measures.positive is None:
        truth, chances = probabilities.argmax(axis=1) == targets, probabilities.max(axis=1)
    else:
        truth, chances = targets == measures.positive, probabilities[:, measures.positive]
        figures["brier"] = brier(truth, chances)
    curve = reliability_curve(truth, chances)
    return figures | {
        "calibration_error": expected_calibration_error(truth, chances),
        "reliability": {
            "predicted": curve.mean_predicted.tolist(),
            "observed": curve.observed.tolist(),
            "counts": curve.counts.tolist(),
        },
    }


def _table(measures: Measures, name: str, part: PartPredictions, probabilities: Floats) -> pa.Table:
    """The rows of predictions.parquet: corrected probabilities, and raw ones of a hybrid's halves."""
    columns: dict[str, Any] = {"part": pa.array([name] * len(part.targets)), **part.names, "target": part.targets}
    for prefix, values in (("p", probabilities), *part.halves.items()):
        if "src" in part.names:
            columns[prefix] = values[:, 1]
        else:
            columns |= {f"{prefix}_{label}": values[:, place] for place, label in enumerate(measures.classes)}
    return pa.table(columns)
