"""Evaluation metrics: pure functions of NumPy arrays.

``truth`` holds class indices or, for binary metrics, whether each example is positive. Higher ``scores`` mean more
likely positive. Two rules hold for all metrics:

- A score that is not finite raises an error. A NaN can end up anywhere in a ranking and make a broken model look good.
- The order of the examples has no effect. Ties are handled together, so a model that gives every example the same score
  gets the metrics of random guessing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gtea.errors import DataError, UsageError

Floats = NDArray[np.float64]
_TOP_K = 100
_MIN_PROBABILITY = 1e-6
"""The lower limit of a probability in the log-likelihood: one confident mistake must not dominate the mean."""


def accuracy(truth: ArrayLike, predicted: ArrayLike) -> float:
    """The share of examples whose class was predicted correctly."""
    classes, predictions = _classes(truth, predicted)
    return float(np.mean(classes == predictions))


def macro_f1(truth: ArrayLike, predicted: ArrayLike) -> float:
    """The mean F1 = 2 TP / (2 TP + FP + FN) over the classes that occur in the truth or in the predictions."""
    classes, predictions = _classes(truth, predicted)
    present, codes = np.unique(np.concatenate([classes, predictions]), return_inverse=True)
    actual, guessed = codes[: len(classes)], codes[len(classes) :]
    hits = np.bincount(actual[actual == guessed], minlength=len(present))
    # 2 TP + FP + FN: occurrences in the truth (TP + FN) plus occurrences in the predictions (TP + FP).
    total = np.bincount(actual, minlength=len(present)) + np.bincount(guessed, minlength=len(present))
    return float(np.mean(2 * hits / total))


def prevalence(truth: ArrayLike) -> float:
    """The share of positives, which is also the average precision of random guessing."""
    positive = np.asarray(truth, dtype=bool)
    if positive.ndim != 1 or not len(positive):
        raise DataError(
            f"truth: must be a list of examples, not empty (got shape {positive.shape}). Pass one value per example."
        )
    return float(positive.mean())


def average_precision(truth: ArrayLike, scores: ArrayLike) -> float:
    """The sum of (R_n - R_{n-1}) P_n with one threshold per distinct score, without interpolation."""
    positive, values = checked_scores(truth, scores)
    require_examples(positive, "average precision", negatives=False)
    hits, false_alarms = counts_at_thresholds(positive, values)
    recall = np.diff(hits, prepend=0) / positive.sum()
    return float(np.sum(recall * hits / (hits + false_alarms)))


def roc_auc(truth: ArrayLike, scores: ArrayLike) -> float:
    """The probability that a positive scores higher than a negative. A tie counts half."""
    positive, values = checked_scores(truth, scores)
    require_examples(positive, "ROC-AUC")
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    average = np.cumsum(counts) - (counts - 1) / 2
    num_positive, num_negative = int(positive.sum()), int((~positive).sum())
    above = average[places][positive].sum() - num_positive * (num_positive + 1) / 2
    return float(above / (num_positive * num_negative))


def precision_at_k(truth: ArrayLike, scores: ArrayLike, k: int) -> float:
    """The share of positives among the k highest scores.

    If examples tie for the last places, the result is the expected value under random tie-breaking.
    """
    positive, values = checked_scores(truth, scores)
    return _hits_among(positive, values, k) / k


def recall_at_k(truth: ArrayLike, scores: ArrayLike, k: int) -> float:
    """The share of all positives that are among the k highest scores. Ties are handled as in ``precision_at_k``."""
    positive, values = checked_scores(truth, scores)
    require_examples(positive, "recall", negatives=False)
    return _hits_among(positive, values, k) / int(positive.sum())


def recall_at_fpr(truth: ArrayLike, scores: ArrayLike, limit: float) -> float:
    """The highest recall of any threshold with a false positive rate of at most ``limit``.

    Tied scores are on the same side of a threshold. There is no interpolation.
    """
    if not 0 <= limit <= 1:
        raise UsageError(f"limit: must be a share from 0 to 1 (got {limit}). Try 0.01.")
    positive, values = checked_scores(truth, scores)
    require_examples(positive, "recall at a false positive rate")
    hits, false_alarms = counts_at_thresholds(positive, values)
    allowed = false_alarms <= limit * int((~positive).sum()) + 1e-9
    return float(hits[allowed].max(initial=0) / positive.sum())


def brier(truth: ArrayLike, probabilities: ArrayLike) -> float:
    """The mean squared difference between the predicted probability and the truth (0 or 1)."""
    positive, probs = checked_scores(truth, probabilities)
    require_probabilities(probs)
    return float(np.mean((probs - positive) ** 2))


def log_likelihood(truth: ArrayLike, probabilities: ArrayLike) -> float:
    """The mean log probability of the true class. ``probabilities`` has one column per class. The maximum is 0."""
    targets, probs = np.asarray(truth, dtype=np.int64), np.asarray(probabilities, dtype=np.float64)
    given = probs[np.arange(len(targets)), targets]
    require_probabilities(given)
    return float(np.mean(np.log(np.maximum(given, _MIN_PROBABILITY))))


@dataclass(frozen=True)
class ReliabilityCurve:
    """Predicted probabilities compared with observed frequencies, with one entry per non-empty bin."""

    low: Floats
    """The lower edge of each bin. Bins include their lower edge; only the last one includes its upper edge, 1."""
    mean_predicted: Floats
    observed: Floats
    """The share of positives in each bin."""
    counts: NDArray[np.int64]


def reliability_curve(truth: ArrayLike, probabilities: ArrayLike, num_bins: int = 10) -> ReliabilityCurve:
    """Compare predicted probabilities with observed frequencies, in bins of equal width over [0, 1]."""
    if num_bins < 1:
        raise UsageError(f"num_bins: must be at least 1 (got {num_bins}). Try 10.")
    positive, probs = checked_scores(truth, probabilities)
    require_probabilities(probs)
    edges = np.linspace(0, 1, num_bins + 1)
    bins = np.minimum(np.searchsorted(edges, probs, side="right") - 1, num_bins - 1)
    counts = np.bincount(bins, minlength=num_bins)
    kept = np.flatnonzero(counts)
    predicted = np.bincount(bins, probs, num_bins)[kept] / counts[kept]
    observed = np.bincount(bins, positive, num_bins)[kept] / counts[kept]
    return ReliabilityCurve(edges[kept], predicted, observed, counts[kept])


def expected_calibration_error(truth: ArrayLike, probabilities: ArrayLike, num_bins: int = 15) -> float:
    """The difference between the mean predicted probability and the share of positives, averaged over bins.

    Bins hold equal numbers of examples: where one class is rare, nearly all of them would be in the first of the bins
    of equal width. Tied probabilities are in one bin, that of their mean rank. The error of perfect probabilities is
    not 0 but shrinks as the bins get larger.
    """
    if num_bins < 1:
        raise UsageError(f"num_bins: must be at least 1 (got {num_bins}). Try 15.")
    positive, probs = checked_scores(truth, probabilities)
    require_probabilities(probs)
    _, places, counts = np.unique(probs, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts + 1) / 2
    bins = (middle * num_bins / len(probs)).astype(np.int64)[places]
    # |mean predicted - observed| x the size of a bin: the sizes cancel.
    return float(np.abs(np.bincount(bins, probs - positive)).sum() / len(probs))


def mrr(positive: ArrayLike, negatives: ArrayLike) -> float:
    """The mean reciprocal rank of each true link among its own negatives. Ties are handled as in ``_link_ranks``."""
    return float(np.mean(1 / _link_ranks(positive, negatives)))


def hits_at_k(positive: ArrayLike, negatives: ArrayLike, k: int) -> float:
    """The share of true links that rank at most k-th among their own negatives."""
    _require_k(k)
    return float(np.mean(_link_ranks(positive, negatives) <= k))


def node_metrics(
    truth: ArrayLike,
    probabilities: ArrayLike,
    classes: Sequence[str],
    positive: str | None = None,
    threshold: float | None = None,
) -> dict[str, float]:
    """All metrics of a node task: accuracy, macro-F1 and log-likelihood; for two classes also ``binary_metrics``.

    Args:
        truth: The class of each account, as an index into ``classes``.
        probabilities: One row per account, one column per class. The prediction is the class with the highest
            probability; on a tie, the first one.
        classes: The names of the classes.
        positive: The positive class; required if there are two classes.
        threshold: With two classes, the lowest probability that is predicted as positive. By default the prediction is
            the class with the highest probability.
    """
    targets = np.asarray(truth)
    probs = np.asarray(probabilities, dtype=np.float64)
    if targets.ndim != 1 or probs.shape != (len(targets), len(classes)):
        raise DataError(
            f"probabilities: must have one row per account and one column per class, {targets.shape} x {len(classes)} "
            f"(got {probs.shape}). Score the accounts that are in the truth."
        )
    require_finite(probs)
    if len(classes) != 2:
        return _class_figures(targets, probs.argmax(axis=1), probs)
    if positive not in classes:
        raise UsageError(
            f"positive: must be one of {', '.join(map(repr, classes))} (got {positive!r}). Pass one of them."
        )
    column = tuple(classes).index(positive)
    predicted = probs.argmax(axis=1)
    if threshold is not None:
        predicted = np.where(probs[:, column] >= threshold, column, 1 - column)
    return _class_figures(targets, predicted, probs) | binary_metrics(targets == column, probs[:, column])


def _class_figures(targets: NDArray[Any], predicted: NDArray[Any], probabilities: Floats) -> dict[str, float]:
    return {
        "accuracy": accuracy(targets, predicted),
        "macro_f1": macro_f1(targets, predicted),
        "log_likelihood": log_likelihood(targets, probabilities),
    }


def binary_metrics(truth: ArrayLike, probabilities: ArrayLike) -> dict[str, float]:
    """Ranking and calibration metrics of a binary task.

    ``precision_at_positives`` is the precision at k = number of positives. The metrics at k = 100 are included if there
    are at least 100 examples.
    """
    positive, probs = checked_scores(truth, probabilities)
    figures = {
        "average_precision": average_precision(positive, probs),
        "prevalence": prevalence(positive),
        "roc_auc": roc_auc(positive, probs),
        "precision_at_positives": precision_at_k(positive, probs, int(positive.sum())),
    }
    if len(positive) >= _TOP_K:
        figures[f"precision_at_{_TOP_K}"] = precision_at_k(positive, probs, _TOP_K)
        figures[f"recall_at_{_TOP_K}"] = recall_at_k(positive, probs, _TOP_K)
    figures["recall_at_1pct_fpr"] = recall_at_fpr(positive, probs, 0.01)
    figures["recall_at_0.1pct_fpr"] = recall_at_fpr(positive, probs, 0.001)
    figures["brier"] = brier(positive, probs)
    return figures


def best_threshold(positive: ArrayLike, negatives: ArrayLike) -> float:
    """Return the score threshold with the highest accuracy. Scores at or above it are predicted as links.

    On a tie, the highest threshold wins. Choose it on a validation part: the logit of a dot product has no bias, so 0.5
    is not a meaningful threshold.
    """
    true, false = _link_scores(positive, negatives)
    scores = np.concatenate([true, false.ravel()])
    return accuracy_threshold(np.arange(len(scores)) < len(true), scores)


def accuracy_threshold(truth: ArrayLike, scores: ArrayLike) -> float:
    """Return the score threshold with the highest accuracy on labelled examples; on a tie, the highest threshold."""
    positive, values = checked_scores(truth, scores)
    hits, false_alarms = counts_at_thresholds(positive, values)
    return float(np.unique(values)[::-1][np.argmax(hits - false_alarms)])


def pair_metrics(truth: ArrayLike, probabilities: ArrayLike, threshold: float) -> dict[str, float]:
    """All metrics of individually labelled pairs, where negatives do not belong to particular links.

    Args:
        truth: Whether each pair is a link.
        probabilities: The predicted probability of a link.
        threshold: The lowest probability that is predicted as a link, for accuracy and macro-F1.
    """
    positive, probs = checked_scores(truth, probabilities)
    predicted = probs >= threshold
    figures = {
        "accuracy": accuracy(positive, predicted),
        "macro_f1": macro_f1(positive, predicted),
        "log_likelihood": log_likelihood(positive, np.stack([1 - probs, probs], axis=1)),
    }
    return figures | binary_metrics(positive, probs)


def link_metrics(
    positive: ArrayLike, negatives: ArrayLike, hits: Sequence[int] = (1, 3, 10), threshold: float = 0.5
) -> dict[str, float]:
    """All metrics of a link task, where every true link has its own negatives.

    Args:
        positive: The predicted probability of each true link.
        negatives: The predicted probabilities of its negatives: one row per true link.
        hits: The values of k for hits@k. Values above the number of negatives carry no information and are left out.
        threshold: The lowest probability that is predicted as a link, for accuracy and macro-F1.
    """
    true, false = _link_scores(positive, negatives)
    scores = np.concatenate([true, false.ravel()])
    truth = np.arange(len(scores)) < len(true)
    require_probabilities(scores)
    figures = {**pair_metrics(truth, scores, threshold), "mrr": mrr(true, false)}
    return figures | {f"hits_at_{k}": hits_at_k(true, false, k) for k in hits if k <= false.shape[1]}


def _classes(truth: ArrayLike, predicted: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    classes, predictions = np.asarray(truth), np.asarray(predicted)
    if classes.ndim != 1 or classes.shape != predictions.shape or not len(classes):
        raise DataError(
            f"truth, predicted: must be two lists of the same length, not empty (got shapes {classes.shape} and "
            f"{predictions.shape}). Pass one prediction per example."
        )
    return classes, predictions


def checked_scores(truth: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.bool_], Floats]:
    """Convert truth and scores, and validate them."""
    positive, values = np.asarray(truth, dtype=bool), np.asarray(scores, dtype=np.float64)
    if positive.ndim != 1 or positive.shape != values.shape or not len(positive):
        raise DataError(
            f"truth, scores: must be two lists of the same length, not empty (got shapes {positive.shape} and "
            f"{values.shape}). Pass one score per example."
        )
    require_finite(values)
    return positive, values


def _link_scores(positive: ArrayLike, negatives: ArrayLike) -> tuple[Floats, Floats]:
    true, false = np.asarray(positive, dtype=np.float64), np.asarray(negatives, dtype=np.float64)
    if true.ndim != 1 or false.ndim != 2 or len(true) != len(false) or not false.size:
        raise DataError(
            "positive, negatives: must be a list, and a table with one row for each of its entries, not empty "
            f"(got shapes {true.shape} and {false.shape}). Draw negatives for each positive."
        )
    require_finite(true)
    require_finite(false)
    return true, false


def _link_ranks(positive: ArrayLike, negatives: ArrayLike) -> Floats:
    """Return the rank of each true link among its own negatives, from 1. Each tie adds half a rank.

    This is the mean of the best and the worst rank under tie-breaking, as in TGB. A model that gives every pair the
    same score ranks links in the middle, not at the top.
    """
    true, false = _link_scores(positive, negatives)
    own = true[:, None]
    return np.asarray(1 + (false > own).sum(axis=1) + (false == own).sum(axis=1) / 2, dtype=np.float64)


def counts_at_thresholds(positive: NDArray[np.bool_], scores: Floats) -> tuple[Floats, Floats]:
    """Count the positives and negatives at or above each distinct score, in descending order of scores."""
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    hits = np.cumsum(positive[order])[ends].astype(np.float64)
    return hits, ends + 1 - hits


def _hits_among(positive: NDArray[np.bool_], scores: Floats, k: int) -> float:
    """Return the expected number of positives among the k highest scores under random tie-breaking."""
    _require_k(k)
    if k > len(scores):
        raise DataError(f"k: must not be more than the {len(scores)} examples (got {k}). Use a smaller k.")
    threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
    above, tied = scores > threshold, scores == threshold
    return float(positive[above].sum() + (k - above.sum()) * positive[tied].mean())


def _require_k(k: int) -> None:
    if k < 1:
        raise UsageError(f"k: must be at least 1 (got {k}). Try 1.")


def require_examples(positive: NDArray[np.bool_], what: str, *, negatives: bool = True) -> None:
    """Raise if there is no positive or, where they are needed, no negative."""
    if not positive.any() or (negatives and positive.all()):
        missing = "negative" if positive.any() else "positive"
        raise DataError(f"truth: {what} needs at least one {missing} example (got none). Add examples.")


def require_finite(scores: Floats) -> None:
    """Raise if a value is NaN or infinite, naming the first one."""
    bad = np.argwhere(~np.isfinite(scores))
    if len(bad):
        position = tuple(int(number) for number in bad[0])
        shown = ", ".join(map(str, position))
        raise DataError(
            f"scores: must be finite (got {scores[position]} at {shown}, {len(bad):,} such in all). "
            "The model has diverged: lower the learning rate, or check the features."
        )


def require_probabilities(scores: Floats) -> None:
    """Raise if a value is not from 0 to 1, naming the first one."""
    bad = np.argwhere((scores < 0) | (scores > 1))
    if len(bad):
        position = tuple(int(number) for number in bad[0])
        shown = ", ".join(map(str, position))
        raise DataError(
            f"probabilities: must be from 0 to 1 (got {scores[position]} at {shown}). Pass probabilities, not logits."
        )
