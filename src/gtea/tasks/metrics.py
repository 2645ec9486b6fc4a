"""How good answers are: pure functions of NumPy arrays.

``truth`` holds class numbers, or for two classes whether an example is positive; ``scores`` say how positive each one
looks. Two rules hold for all of them:

- A score that is not finite is an error. A NaN that ranks somewhere by accident makes a broken model look good.
- The order of the examples changes nothing. Equal scores are taken together, so that a model which gives everybody the
  same score gets what guessing gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gtea.errors import DataError, UsageError

Floats = NDArray[np.float64]
_ALERTS = 100
_SUREST = 1e-6
"""What a chance of less counts as: one mistake that a model is quite sure of must not outweigh all else."""


def accuracy(truth: ArrayLike, predicted: ArrayLike) -> float:
    """The share of examples whose class was named."""
    classes, guesses = _classes(truth, predicted)
    return float(np.mean(classes == guesses))


def macro_f1(truth: ArrayLike, predicted: ArrayLike) -> float:
    """The mean F1 = 2 TP / (2 TP + FP + FN) of the classes that are in the truth or were predicted."""
    classes, guesses = _classes(truth, predicted)
    present, codes = np.unique(np.concatenate([classes, guesses]), return_inverse=True)
    actual, guessed = codes[: len(classes)], codes[len(classes) :]
    hits = np.bincount(actual[actual == guessed], minlength=len(present))
    # TP + FN + TP + FP: each class is counted once where it is and once where it is said to be.
    named = np.bincount(actual, minlength=len(present)) + np.bincount(guessed, minlength=len(present))
    return float(np.mean(2 * hits / named))


def prevalence(truth: ArrayLike) -> float:
    """The share of positives: the average precision of a model that guesses."""
    positive = np.asarray(truth, dtype=bool)
    if positive.ndim != 1 or not len(positive):
        raise DataError(f"truth: must be a list of examples that is not empty (got shape {positive.shape}).")
    return float(positive.mean())


def average_precision(truth: ArrayLike, scores: ArrayLike) -> float:
    """The sum over thresholds of (R_n - R_{n-1}) P_n, a threshold for each distinct score; nothing is interpolated."""
    positive, ranks = _ranked(truth, scores)
    _require_both(positive, "average precision", negatives=False)
    hits, alarms = _counts_at_thresholds(positive, ranks)
    recall = np.diff(hits, prepend=0) / positive.sum()
    return float(np.sum(recall * hits / (hits + alarms)))


def roc_auc(truth: ArrayLike, scores: ArrayLike) -> float:
    """The chance that a positive scores higher than a negative; a tie counts half."""
    positive, ranks = _ranked(truth, scores)
    _require_both(positive, "ROC-AUC")
    _, places, counts = np.unique(ranks, return_inverse=True, return_counts=True)
    average = np.cumsum(counts) - (counts - 1) / 2
    num_positive, num_negative = int(positive.sum()), int((~positive).sum())
    above = average[places][positive].sum() - num_positive * (num_positive + 1) / 2
    return float(above / (num_positive * num_negative))


def precision_at_k(truth: ArrayLike, scores: ArrayLike, k: int) -> float:
    """The share of positives among the k highest scores.

    Where the k-th score is shared, each of those who share it counts for its part of the places left: the value that
    breaking the tie by lot gives on average.
    """
    positive, ranks = _ranked(truth, scores)
    return _hits_among(positive, ranks, k) / k


def recall_at_k(truth: ArrayLike, scores: ArrayLike, k: int) -> float:
    """The share of all positives that is among the k highest scores; ties as in ``precision_at_k``."""
    positive, ranks = _ranked(truth, scores)
    _require_both(positive, "recall", negatives=False)
    return _hits_among(positive, ranks, k) / int(positive.sum())


def recall_at_fpr(truth: ArrayLike, scores: ArrayLike, limit: float) -> float:
    """The highest recall of a threshold that raises an alarm for at most ``limit`` of the negatives.

    Equal scores are above a threshold together or not at all; nothing is interpolated.
    """
    if not 0 <= limit <= 1:
        raise UsageError(f"limit: must be a share from 0 to 1 (got {limit}). Try 0.01.")
    positive, ranks = _ranked(truth, scores)
    _require_both(positive, "recall at a false positive rate")
    hits, alarms = _counts_at_thresholds(positive, ranks)
    allowed = alarms <= limit * int((~positive).sum()) + 1e-9
    return float(hits[allowed].max(initial=0) / positive.sum())


def brier(truth: ArrayLike, probabilities: ArrayLike) -> float:
    """The mean squared distance between the probability of being positive and the truth."""
    positive, chances = _ranked(truth, probabilities)
    _require_probabilities(chances)
    return float(np.mean((chances - positive) ** 2))


def log_likelihood(truth: ArrayLike, probabilities: ArrayLike) -> float:
    """The mean logarithm of the probability that each example's own class was given, one column a class; at most 0."""
    targets, chances = np.asarray(truth, dtype=np.int64), np.asarray(probabilities, dtype=np.float64)
    given = chances[np.arange(len(targets)), targets]
    _require_probabilities(given)
    return float(np.mean(np.log(np.maximum(given, _SUREST))))


@dataclass(frozen=True)
class ReliabilityCurve:
    """Do things said to happen in 30 % of cases happen in 30 % of cases? One entry for each bin that isn't empty."""

    low: Floats
    """The lower edge of each bin, which belongs to it; the upper edge doesn't, but for 1."""
    mean_predicted: Floats
    observed: Floats
    """The share of positives."""
    counts: NDArray[np.int64]


def reliability_curve(truth: ArrayLike, probabilities: ArrayLike, num_bins: int = 10) -> ReliabilityCurve:
    """Predicted against observed shares, in bins of equal width over 0..1. Empty bins are left out."""
    if num_bins < 1:
        raise UsageError(f"num_bins: must be at least 1 (got {num_bins}). Try 10.")
    positive, chances = _ranked(truth, probabilities)
    _require_probabilities(chances)
    edges = np.linspace(0, 1, num_bins + 1)
    bins = np.minimum(np.searchsorted(edges, chances, side="right") - 1, num_bins - 1)
    counts = np.bincount(bins, minlength=num_bins)
    kept = np.flatnonzero(counts)
    predicted = np.bincount(bins, chances, num_bins)[kept] / counts[kept]
    observed = np.bincount(bins, positive, num_bins)[kept] / counts[kept]
    return ReliabilityCurve(edges[kept], predicted, observed, counts[kept])


def mrr(positive: ArrayLike, negatives: ArrayLike) -> float:
    """The mean of 1 / rank of each true link among its own negatives; ties as in ``_link_ranks``."""
    return float(np.mean(1 / _link_ranks(positive, negatives)))


def hits_at_k(positive: ArrayLike, negatives: ArrayLike, k: int) -> float:
    """The share of true links whose rank among their own negatives is at most k."""
    _require_k(k)
    return float(np.mean(_link_ranks(positive, negatives) <= k))


def node_metrics(
    truth: ArrayLike, probabilities: ArrayLike, classes: Sequence[str], positive: str | None = None
) -> dict[str, float]:
    """All figures of a node task: accuracy, macro-F1 and likelihood, for two classes those of ranking and calibration.

    Args:
        truth: The number of each account's class.
        probabilities: One row an account, one column a class. The highest is the prediction, the first of equals.
        positive: The class that is looked for; required if there are two.
    """
    targets = np.asarray(truth)
    chances = np.asarray(probabilities, dtype=np.float64)
    if targets.ndim != 1 or chances.shape != (len(targets), len(classes)):
        raise DataError(
            f"probabilities: must have one row an account and one column a class, {targets.shape} x {len(classes)} "
            f"(got {chances.shape}). Score the accounts that the truth is about."
        )
    require_finite(chances)
    predicted = chances.argmax(axis=1)
    figures = {
        "accuracy": accuracy(targets, predicted),
        "macro_f1": macro_f1(targets, predicted),
        "log_likelihood": log_likelihood(targets, chances),
    }
    if len(classes) != 2:
        return figures
    if positive not in classes:
        raise UsageError(f"positive: must be one of {', '.join(map(repr, classes))} (got {positive!r}). Name it.")
    column = tuple(classes).index(positive)
    return figures | binary_metrics(targets == column, chances[:, column])


def binary_metrics(truth: ArrayLike, probabilities: ArrayLike) -> dict[str, float]:
    """Ranking and calibration of one class against the other.

    ``precision_at_positives`` takes as many alerts as there are positives; the figures at 100 are given where there
    are so many examples.
    """
    positive, chances = _ranked(truth, probabilities)
    figures = {
        "average_precision": average_precision(positive, chances),
        "prevalence": prevalence(positive),
        "roc_auc": roc_auc(positive, chances),
        "precision_at_positives": precision_at_k(positive, chances, int(positive.sum())),
    }
    if len(positive) >= _ALERTS:
        figures[f"precision_at_{_ALERTS}"] = precision_at_k(positive, chances, _ALERTS)
        figures[f"recall_at_{_ALERTS}"] = recall_at_k(positive, chances, _ALERTS)
    figures["recall_at_1pct_fpr"] = recall_at_fpr(positive, chances, 0.01)
    figures["recall_at_0.1pct_fpr"] = recall_at_fpr(positive, chances, 0.001)
    figures["brier"] = brier(positive, chances)
    return figures


def best_threshold(positive: ArrayLike, negatives: ArrayLike) -> float:
    """The score from which on to say "link" for the highest accuracy; the highest of equals.

    To be set on a validation part: a dot product has no bias, and 0.5 then means nothing.
    """
    true, false = _links(positive, negatives)
    scores = np.concatenate([true, false.ravel()])
    return threshold_of(np.arange(len(scores)) < len(true), scores)


def threshold_of(truth: ArrayLike, scores: ArrayLike) -> float:
    """The score from which on to say "positive" for the highest accuracy; the highest of equals."""
    positive, ranks = _ranked(truth, scores)
    hits, alarms = _counts_at_thresholds(positive, ranks)
    return float(np.unique(ranks)[::-1][np.argmax(hits - alarms)])


def pair_metrics(truth: ArrayLike, probabilities: ArrayLike, threshold: float) -> dict[str, float]:
    """All figures of pairs that are labelled one by one, so that nobody says which negative stands beside which link.

    Args:
        truth: Whether each pair is a link.
        threshold: The probability from which on a link is said to be one, for accuracy and macro-F1.
    """
    positive, chances = _ranked(truth, probabilities)
    predicted = chances >= threshold
    figures = {
        "accuracy": accuracy(positive, predicted),
        "macro_f1": macro_f1(positive, predicted),
        "log_likelihood": log_likelihood(positive, np.stack([1 - chances, chances], axis=1)),
    }
    return figures | binary_metrics(positive, chances)


def link_metrics(
    positive: ArrayLike, negatives: ArrayLike, hits: Sequence[int] = (1, 3, 10), threshold: float = 0.5
) -> dict[str, float]:
    """All figures of a link task.

    Args:
        positive: The probability given to each true link.
        negatives: One row a true link: the probabilities given to the links that were put beside it.
        hits: The k of hits@k. Those above the number of negatives say nothing and are left out.
        threshold: The probability from which on a link is said to be one, for accuracy and macro-F1.
    """
    true, false = _links(positive, negatives)
    scores = np.concatenate([true, false.ravel()])
    truth = np.arange(len(scores)) < len(true)
    _require_probabilities(scores)
    figures = {**pair_metrics(truth, scores, threshold), "mrr": mrr(true, false)}
    return figures | {f"hits_at_{k}": hits_at_k(true, false, k) for k in hits if k <= false.shape[1]}


def _classes(truth: ArrayLike, predicted: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    classes, guesses = np.asarray(truth), np.asarray(predicted)
    if classes.ndim != 1 or classes.shape != guesses.shape or not len(classes):
        raise DataError(
            f"truth, predicted: must be two lists of one length, not empty (got shapes {classes.shape} and "
            f"{guesses.shape}). Predict the examples that the truth is about."
        )
    return classes, guesses


def _ranked(truth: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.bool_], Floats]:
    """Truth and scores, checked."""
    positive, ranks = np.asarray(truth, dtype=bool), np.asarray(scores, dtype=np.float64)
    if positive.ndim != 1 or positive.shape != ranks.shape or not len(positive):
        raise DataError(
            f"truth, scores: must be two lists of one length, not empty (got shapes {positive.shape} and "
            f"{ranks.shape}). Score the examples that the truth is about."
        )
    require_finite(ranks)
    return positive, ranks


def _links(positive: ArrayLike, negatives: ArrayLike) -> tuple[Floats, Floats]:
    true, false = np.asarray(positive, dtype=np.float64), np.asarray(negatives, dtype=np.float64)
    if true.ndim != 1 or false.ndim != 2 or len(true) != len(false) or not false.size:
        raise DataError(
            "positive, negatives: must be a list and a table with one row for each of its entries, not empty "
            f"(got shapes {true.shape} and {false.shape}). Draw negatives for each positive."
        )
    require_finite(true)
    require_finite(false)
    return true, false


def _link_ranks(positive: ArrayLike, negatives: ArrayLike) -> Floats:
    """The rank of each true link among its own negatives, from 1; a tie counts half a place.

    Half a place is the middle between the best and the worst that breaking the tie can do, as in TGB. A model that
    scores everything alike comes out in the middle, not at the top.
    """
    true, false = _links(positive, negatives)
    own = true[:, None]
    return np.asarray(1 + (false > own).sum(axis=1) + (false == own).sum(axis=1) / 2, dtype=np.float64)


def _counts_at_thresholds(positive: NDArray[np.bool_], scores: Floats) -> tuple[Floats, Floats]:
    """How many positives and negatives score at or above each distinct score, from the highest down."""
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    hits = np.cumsum(positive[order])[ends].astype(np.float64)
    return hits, ends + 1 - hits


def _hits_among(positive: NDArray[np.bool_], scores: Floats, k: int) -> float:
    _require_k(k)
    if k > len(scores):
        raise DataError(f"k: must not be more than the {len(scores)} examples (got {k}). Take a smaller k.")
    threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
    above, level = scores > threshold, scores == threshold
    return float(positive[above].sum() + (k - above.sum()) * positive[level].mean())


def _require_k(k: int) -> None:
    if k < 1:
        raise UsageError(f"k: must be at least 1 (got {k}).")


def _require_both(positive: NDArray[np.bool_], what: str, *, negatives: bool = True) -> None:
    if not positive.any() or (negatives and positive.all()):
        missing = "negative" if positive.any() else "positive"
        raise DataError(f"truth: {what} needs at least one {missing} example (got none). Give more examples.")


def require_finite(scores: Floats) -> None:
    """Refuse figures that are no numbers, naming the first."""
    bad = np.argwhere(~np.isfinite(scores))
    if len(bad):
        place = tuple(int(number) for number in bad[0])
        raise DataError(
            f"scores: must be finite (got {scores[place]} at {', '.join(map(str, place))}, {len(bad):,} such in all). "
            "The model has diverged: lower the learning rate, or check the features."
        )


def _require_probabilities(scores: Floats) -> None:
    bad = np.flatnonzero((scores < 0) | (scores > 1))
    if len(bad):
        raise DataError(
            f"probabilities: must be from 0 to 1 (got {scores[bad[0]]} at {bad[0]}). Pass probabilities, not logits."
        )
