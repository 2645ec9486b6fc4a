"""Differences between two models on the same examples, with a 95 % interval by a paired bootstrap.

A resample draws examples with replacement, and both models are measured on what was drawn. The result is the mean
difference over the runs. The interval is about which examples happened to be in the test part. How much results vary
between trainings is seen from the single runs.

- With two classes, draws are stratified: every resample has as many positives as the test part. With more classes they
  are not, because a class with a single example would then never vary.
- Runs that differ only by their seed have the same test part, so the same examples are drawn for all of them. Drawn
  for each run anew, the luck of one test part would seem to average out, and the interval would be too narrow.

A metric is computed from how often each example was drawn, not from drawn rows: examples are then sorted only once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gtea.experiments.defaults.answers import Answers
from gtea.tasks.metrics import Floats
from gtea.tasks.uncertainty import Interval

Counts = NDArray[np.int64]
"""How often each example was drawn."""
Statistic = Callable[[Counts], float]
"""A metric of a resample."""
_LEVEL = 0.95
_NUM_RESAMPLES = 1000
_MIN_PROBABILITY = 1e-6
"""As in ``gtea.tasks.metrics.log_likelihood``."""


def paired_interval(
    metric: str,
    ours: Sequence[Answers],
    rival: Sequence[Answers],
    *,
    same_examples: bool,
    num_resamples: int = _NUM_RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Return the mean difference of a metric, ours minus the rival's, over runs, and its interval.

    Args:
        metric: One of average_precision, accuracy, log_likelihood, macro_f1.
        ours: The answers of our model in each run.
        rival: Those of the rival to the same examples.
        same_examples: Whether all runs have the same test examples.
        num_resamples: The number of resamples.
        seed: The seed of the resampling.
    """
    pairs = [(statistic(metric, a), statistic(metric, b)) for a, b in zip(ours, rival, strict=True)]

    def difference(counts: Sequence[Counts]) -> float:
        return float(np.mean([a(drawn) - b(drawn) for (a, b), drawn in zip(pairs, counts, strict=True)]))

    rng = np.random.default_rng(seed)
    strata = [_strata(answers) for answers in ours]
    values = [difference(_drawn(strata, rng, same_examples=same_examples)) for _ in range(num_resamples)]
    low, high = np.quantile(values, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return Interval(difference([np.ones(len(answers), np.int64) for answers in ours]), float(low), float(high))


def statistic(metric: str, answers: Answers) -> Statistic:
    """Return the function that computes a metric of a resample of these answers."""
    match metric:
        case "average_precision":
            assert answers.positive is not None
            return _average_precision(answers.truth == answers.positive, answers.probabilities[:, answers.positive])
        case "accuracy":
            return _mean((answers.predicted == answers.truth).astype(np.float64))
        case "log_likelihood":
            given = answers.probabilities[np.arange(len(answers)), answers.truth]
            return _mean(np.log(np.maximum(given, _MIN_PROBABILITY)))
        case "macro_f1":
            return _macro_f1(answers.truth, answers.predicted)
    raise AssertionError(metric)


def _strata(answers: Answers) -> list[Counts]:
    """The places of the examples among which draws are made."""
    if answers.positive is None:
        return [np.arange(len(answers))]
    return [np.flatnonzero(answers.truth == target) for target in (0, 1)]


def _drawn(strata: Sequence[list[Counts]], rng: np.random.Generator, *, same_examples: bool) -> list[Counts]:
    """How often each example of each run is drawn."""
    if not same_examples:
        return [_placed(run, list(_draws(run, rng))) for run in strata]
    draws = list(_draws(strata[0], rng))
    return [_placed(run, draws) for run in strata]


def _draws(run: list[Counts], rng: np.random.Generator) -> Iterator[Counts]:
    for places in run:
        size = len(places)
        yield np.bincount(rng.integers(size, size=size), minlength=size) if size else np.zeros(0, np.int64)


def _placed(run: list[Counts], draws: list[Counts]) -> Counts:
    counts = np.zeros(sum(map(len, run)), np.int64)
    for places, drawn in zip(run, draws, strict=True):
        counts[places] = drawn
    return counts


def _mean(values: Floats) -> Statistic:
    return lambda counts: float(counts @ values / counts.sum())


def _average_precision(positive: NDArray[np.bool_], scores: Floats) -> Statistic:
    """The sum of (R_n - R_{n-1}) P_n with one threshold per distinct score."""
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    hit = positive[order]

    def of_resample(counts: Counts) -> float:
        drawn = counts[order]
        alerts, hits = np.cumsum(drawn)[ends], np.cumsum(drawn * hit)[ends]
        # Before the first drawn example there are no alerts, and no hits either.
        return float(np.sum(np.diff(hits, prepend=0) * hits / np.maximum(alerts, 1)) / hits[-1])

    return of_resample


def _macro_f1(truth: Counts, predicted: Counts) -> Statistic:
    """The mean F1 over the classes that occur among the drawn examples or in their predictions."""
    num_classes = int(max(truth.max(), predicted.max())) + 1
    correct = np.flatnonzero(truth == predicted)

    def of_resample(counts: Counts) -> float:
        hits = np.bincount(truth[correct], counts[correct], num_classes)
        total = np.bincount(truth, counts, num_classes) + np.bincount(predicted, counts, num_classes)
        occurs = total > 0
        return float(np.mean(2 * hits[occurs] / total[occurs]))

    return of_resample
