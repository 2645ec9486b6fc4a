"""The fast bootstrap is the naive one: rows that are drawn, put together and measured by the ordinary metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.experiments.defaults.conftest import made_answers

from gtea.experiments.defaults.answers import Answers
from gtea.experiments.defaults.resampling import paired_interval, statistic
from gtea.tasks import metrics

BINARY = ("average_precision", "log_likelihood", "macro_f1", "accuracy")
OTHERS = BINARY[1:]


def measured(metric: str, answers: Answers, rows: NDArray[np.int64]) -> float:
    """A metric of some rows, by gtea.tasks.metrics."""
    truth, probabilities, predicted = answers.truth[rows], answers.probabilities[rows], answers.predicted[rows]
    match metric:
        case "average_precision":
            assert answers.positive is not None
            return metrics.average_precision(truth == answers.positive, probabilities[:, answers.positive])
        case "log_likelihood":
            return metrics.log_likelihood(truth, probabilities)
        case "macro_f1":
            return metrics.macro_f1(truth, predicted)
        case _:
            return metrics.accuracy(truth, predicted)


def naive_interval(
    metric: str, ours: Sequence[Answers], rival: Sequence[Answers], num_resamples: int, *, same_examples: bool
) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    values = []
    for _ in range(num_resamples):
        differences, rows = [], np.zeros(0, np.int64)
        for run, (a, b) in enumerate(zip(ours, rival, strict=True)):
            if run == 0 or not same_examples:
                strata = [np.arange(len(a))] if a.positive is None else [np.flatnonzero(a.truth == c) for c in (0, 1)]
                rows = np.concatenate([places[rng.integers(len(places), size=len(places))] for places in strata])
            differences.append(measured(metric, a, rows) - measured(metric, b, rows))
        values.append(sum(differences) / len(differences))
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)


@pytest.mark.parametrize(("num_classes", "names"), [(2, BINARY), (5, OTHERS)])
def test_a_metric_of_counts_is_that_of_repeated_rows(num_classes: int, names: Sequence[str]) -> None:
    rng = np.random.default_rng(3)
    for seed in range(20):
        answers = made_answers(seed, 30, num_classes)
        assert num_classes > 2 or len(np.unique(answers.probabilities[:, 0])) < 30  # there are ties
        counts = rng.integers(0, 3, 30)
        rows = np.repeat(np.arange(30), counts)
        for metric in names:
            assert statistic(metric, answers)(counts) == pytest.approx(measured(metric, answers, rows), abs=1e-12)


@pytest.mark.parametrize("same_examples", [True, False])
@pytest.mark.parametrize(("num_classes", "names"), [(2, BINARY), (5, OTHERS)])
def test_the_interval_is_the_naive_one(num_classes: int, names: Sequence[str], same_examples: bool) -> None:
    ours = [made_answers(seed, 40, num_classes, noise=0.6) for seed in (0, 1, 2)]
    rival = [made_answers(seed, 40, num_classes, noise=1.5) for seed in (10, 11, 12)]
    rows = np.arange(40)
    for metric in names:
        found = paired_interval(metric, ours, rival, same_examples=same_examples, num_resamples=60)
        low, high = naive_interval(metric, ours, rival, 60, same_examples=same_examples)
        assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)
        pairs = zip(ours, rival, strict=True)
        differences = [measured(metric, a, rows) - measured(metric, b, rows) for a, b in pairs]
        assert found.value == pytest.approx(np.mean(differences))


def test_three_runs_on_the_same_examples_are_no_surer_than_one() -> None:
    ours, rival = made_answers(0, 200, noise=0.8), made_answers(1, 200)
    one = paired_interval("average_precision", [ours], [rival], same_examples=True)
    three = paired_interval("average_precision", [ours] * 3, [rival] * 3, same_examples=True)
    assert (three.low, three.high) == pytest.approx((one.low, one.high))
    apart = paired_interval("average_precision", [ours] * 3, [rival] * 3, same_examples=False)
    assert apart.high - apart.low < 0.8 * (one.high - one.low)


def test_a_confident_mistake_costs_as_much_as_in_the_metrics() -> None:
    sure = replace(made_answers(0, 4), truth=np.array([0, 1, 0, 1]), probabilities=np.array([[0.0, 1.0]] * 4))
    found = statistic("log_likelihood", sure)(np.ones(4, np.int64))
    assert found == pytest.approx(metrics.log_likelihood(sure.truth, sure.probabilities))
    assert found == pytest.approx(np.log(1e-6) / 2)


def test_a_model_is_level_with_itself_and_positives_are_never_missed() -> None:
    rare = made_answers(0, 50)
    rare = replace(rare, truth=(np.arange(50) == 7).astype(np.int64))
    found = paired_interval("average_precision", [rare], [rare], same_examples=True)
    assert (found.value, found.low, found.high) == (0, 0, 0)


def test_a_class_with_one_example_varies() -> None:
    """Stratified, it would be drawn exactly once each time."""
    truth = np.arange(4)
    ours = replace(made_answers(0, 4, 4), truth=truth, predicted=truth)
    rival = replace(ours, predicted=np.array([0, 1, 3, 2]))
    found = paired_interval("accuracy", [ours], [rival], same_examples=True)
    assert (found.low, found.high) == (0, 1)
