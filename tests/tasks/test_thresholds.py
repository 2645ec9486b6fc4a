"""Thresholds: brute force over all of them, ties, small samples, and what is expected of the alerts."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gtea.errors import DataError, ModelError, UsageError
from gtea.tasks.metrics import macro_f1
from gtea.tasks.thresholds import (
    Threshold,
    budget_threshold,
    macro_f1_threshold,
    precision_threshold,
)

Examples = list[tuple[bool, float]]

chance = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.50001, 0.7, 1.0]))
examples_of_both = st.lists(st.tuples(st.booleans(), chance), min_size=2, max_size=40).filter(
    lambda examples: len({positive for positive, _ in examples}) == 2
)


def arrays(examples: Examples) -> tuple[np.ndarray, np.ndarray]:
    return np.array([each[0] for each in examples]), np.array([each[1] for each in examples])


def naive_macro_f1_threshold(examples: Examples) -> float:
    """Every candidate; of the best, the one nearest to one half."""
    truth = [positive for positive, _ in examples]
    scores = sorted({score for _, score in examples})
    middles = [high if (low + high) / 2 <= low else (low + high) / 2 for low, high in itertools.pairwise(scores)]
    figures = {value: macro_f1(truth, [score >= value for _, score in examples]) for value in [*middles, 0.5]}
    best = [value for value, figure in figures.items() if figure >= max(figures.values()) - 1e-12]
    return min(best, key=lambda value: abs(value - 0.5))


def naive_gain_in_errors(examples: Examples, value: float, seed: int) -> float:
    """The gain over one half as a multiple of its standard error, from resamples of the examples themselves."""
    truth, scores = arrays(examples)
    rng = np.random.default_rng(seed)
    gains = []
    for _ in range(2000):
        rows = np.concatenate([rng.choice(np.flatnonzero(truth == kind), (truth == kind).sum()) for kind in (1, 0)])
        gains.append(macro_f1(truth[rows], scores[rows] >= value) - macro_f1(truth[rows], scores[rows] >= 0.5))
    return (macro_f1(truth, scores >= value) - macro_f1(truth, scores >= 0.5)) / float(np.std(gains))


# Macro-F1.


@given(examples_of_both)
@settings(deadline=None, max_examples=150)
def test_the_macro_f1_threshold_is_the_best_of_all_or_one_half(examples: Examples) -> None:
    found = macro_f1_threshold(*arrays(examples))
    assert (found.value, found.rule) in [(0.5, "half"), (naive_macro_f1_threshold(examples), "macro_f1")]


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("digits", [2, 9])
def test_a_clear_gain_moves_the_threshold(share: float, digits: int) -> None:
    """Probabilities that are far too low: none of them is one half."""
    rng = np.random.default_rng(0)
    truth = rng.random(1000) < share
    scores = np.round(0.45 * rng.beta(np.where(truth, 6, 2), np.where(truth, 2, 6)), digits)
    found = macro_f1_threshold(truth, scores)
    examples = list(zip(truth.tolist(), scores.tolist(), strict=True))
    assert found.rule == "macro_f1"
    assert found.value == naive_macro_f1_threshold(examples)
    assert found.value not in scores
    assert macro_f1(truth, scores >= found.value) > macro_f1(truth, scores >= 0.5) + 0.1


@pytest.mark.parametrize("seed", range(8))
def test_a_gain_within_its_standard_error_is_chance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = np.arange(60) < 20
    scores = np.round(rng.beta(np.where(truth, 3, 2), np.where(truth, 2, 3)), 2)
    examples = list(zip(truth.tolist(), scores.tolist(), strict=True))
    best = naive_macro_f1_threshold(examples)
    errors = naive_gain_in_errors(examples, best, seed)
    if abs(errors - 1) > 0.1:  # closer than that, two bootstraps may disagree
        assert macro_f1_threshold(truth, scores).rule == ("macro_f1" if errors > 1 else "half")


def test_both_sides_of_the_guard_are_seen() -> None:
    """One of six positives below one half is chance; thirty of sixty are not."""
    few = macro_f1_threshold([1] * 6 + [0] * 6, [0.4] + [0.9] * 5 + [0.1] * 5 + [0.45])
    assert (few.value, few.rule) == (0.5, "half")
    many = macro_f1_threshold([1] * 60 + [0] * 60, [0.4] * 30 + [0.9] * 30 + [0.1] * 60)
    assert (many.value, many.rule) == (0.25, "macro_f1")
    high = macro_f1_threshold([1] * 60 + [0] * 60, [0.9] * 60 + [0.1] * 30 + [0.7] * 30)
    assert high.rule == "macro_f1"
    assert high.value == pytest.approx(0.8)


def test_one_half_wins_ties() -> None:
    found = macro_f1_threshold([1] * 50 + [0] * 50, [0.9] * 50 + [0.2] * 50)
    assert (found.value, found.rule) == (0.5, "half")
    assert macro_f1_threshold([1, 0], [0.7, 0.7]).value == 0.5


def test_of_two_best_thresholds_the_nearest_to_one_half_is_taken() -> None:
    # Either side of the example at 0.2 is as good: half of its ties are positive.
    truth = [1] * 100 + [0] * 100 + [1, 0]
    found = macro_f1_threshold(truth, [0.3] * 100 + [0.1] * 100 + [0.2] * 2)
    assert found.rule == "macro_f1"
    assert found.value == 0.25


def test_neighbouring_floats_have_nothing_between_them() -> None:
    low = 0.25
    high = float(np.nextafter(low, 1))
    found = macro_f1_threshold([1] * 50 + [0] * 50, [high] * 50 + [low] * 50)
    assert found.value == high


def test_the_figures_of_a_macro_f1_threshold() -> None:
    found = macro_f1_threshold([1] * 60 + [0] * 60, [0.4] * 30 + [0.9] * 29 + [0.1] + [0.1] * 60)
    assert found.value == 0.25
    assert found.num_alerts == 59
    assert found.alert_share == pytest.approx(59 / 120)
    assert found.expected_precision == pytest.approx((0.4 * 30 + 0.9 * 29) / 59)
    assert found.expected_recall == pytest.approx((0.4 * 30 + 0.9 * 29) / (0.4 * 30 + 0.9 * 29 + 6.1))
    assert found.precision is not None
    assert found.precision.value == 1
    assert found.recall is not None
    assert found.recall.value == pytest.approx(59 / 60)
    assert found.num_labelled == 120


def test_the_order_of_examples_has_no_effect() -> None:
    rng = np.random.default_rng(4)
    truth = rng.random(200) < 0.2
    scores = np.round(rng.random(200) * np.where(truth, 1, 0.5), 2)
    order = rng.permutation(200)
    for choose in (macro_f1_threshold, partial(precision_threshold, precision=0.6)):
        first, second = choose(truth, scores).to_json(), choose(truth[order], scores[order]).to_json()
        assert first.pop("expected_precision") == pytest.approx(second.pop("expected_precision"))
        assert first.pop("expected_recall") == pytest.approx(second.pop("expected_recall"))
        assert first == second


# Budgets.


@given(st.lists(chance, min_size=1, max_size=40), st.integers(1, 50))
@settings(deadline=None)
def test_a_budget_is_the_score_of_its_last_alert(scores: list[float], budget: int) -> None:
    found = budget_threshold(scores, budget)
    assert found.value == sorted(scores, reverse=True)[min(budget, len(scores)) - 1]
    alerts = [score for score in scores if score >= found.value]
    assert found.num_alerts == len(alerts) >= min(budget, len(scores))
    assert sum(score > found.value for score in scores) < budget
    assert found.alert_share == pytest.approx(len(alerts) / len(scores))
    assert found.expected_precision == pytest.approx(sum(alerts) / len(alerts))
    if sum(scores):
        assert found.expected_recall == pytest.approx(sum(alerts) / sum(scores))
        assert found.expected_recall is not None
        assert found.expected_recall <= 1
    else:
        assert found.expected_recall is None
    assert found.rule == "budget"
    assert found.precision is found.recall is None
    assert found.num_labelled == 0


def test_ties_with_the_last_alert_are_counted() -> None:
    found = budget_threshold([0.9, 0.5, 0.5, 0.5, 0.1], 2)
    assert (found.value, found.num_alerts) == (0.5, 4)


def test_a_budget_larger_than_the_data_alerts_on_everything() -> None:
    assert budget_threshold([0.9, 0.5, 0.1], 100).num_alerts == 3


def test_labelled_examples_show_what_a_budget_brings() -> None:
    found = budget_threshold(
        [0.9, 0.8, 0.7, 0.1, 0.0], 3, truth=[1, 0, 1, 0, 1], probabilities=[0.9, 0.8, 0.75, 0.6, 0.1]
    )
    assert found.value == 0.7
    assert found.expected_precision == pytest.approx(0.8)
    assert found.precision is not None
    assert found.precision.value == pytest.approx(2 / 3)
    assert found.recall is not None
    assert found.recall.value == pytest.approx(2 / 3)
    assert found.num_labelled == 5
    nothing = budget_threshold([0.9, 0.1], 1, truth=[False], probabilities=[0.2])
    assert nothing.precision is nothing.recall is None
    assert nothing.num_labelled == 1


def test_expected_precision_is_right_if_probabilities_are() -> None:
    rng = np.random.default_rng(5)
    held = []
    for _ in range(200):
        scores = rng.beta(0.3, 3, 3000)
        truth = rng.random(3000) < scores
        found = budget_threshold(scores, 200, truth=truth, probabilities=scores)
        assert found.precision is not None
        assert found.expected_precision is not None
        held.append(found.precision.low < found.expected_precision < found.precision.high)
        assert found.expected_recall == pytest.approx(truth[scores >= found.value].sum() / truth.sum(), abs=0.12)
    assert np.mean(held) > 0.9


# Precision.


@given(examples_of_both, st.floats(0.05, 1), st.integers(1, 10))
@settings(deadline=None, max_examples=150)
def test_the_precision_threshold_is_the_lowest_of_all(examples: Examples, wanted: float, min_alerts: int) -> None:
    reached = []
    for value in {score for _, score in examples}:
        alerts = [positive for positive, score in examples if score >= value]
        if len(alerts) >= min_alerts and sum(alerts) / len(alerts) >= wanted - 1e-12:
            reached.append(value)
    if not reached:
        with pytest.raises(DataError, match="is not reached with at least"):
            precision_threshold(*arrays(examples), wanted, min_alerts=min_alerts)
        return
    found = precision_threshold(*arrays(examples), wanted, min_alerts=min_alerts)
    assert found.value == min(reached)
    assert found.rule == "precision"
    assert found.precision is not None
    assert found.precision.low <= found.precision.value <= found.precision.high


def test_a_precision_may_be_missed_and_reached_again_further_down() -> None:
    scores = [0.9, 0.8, 0.7, 0.6, 0.5]
    found = precision_threshold([0, 1, 1, 1, 0], scores, 0.75, min_alerts=1)
    assert (found.value, found.num_alerts) == (0.6, 4)


def test_a_precision_that_is_not_reached_names_the_best() -> None:
    truth, scores = [1, 1, 0, 1] + [0] * 16, np.linspace(1, 0, 20)
    with pytest.raises(DataError) as caught:
        precision_threshold(truth, scores, 0.9)
    assert str(caught.value) == (
        "precision: 0.9 is not reached with at least 10 alerts among 20 labelled examples (got at most 0.3, with 10 "
        "alerts). Ask for a lower precision, or add labels."
    )
    assert precision_threshold(truth, scores, 0.9, min_alerts=2).num_alerts == 2


def test_fewer_examples_than_alerts_are_needed() -> None:
    with pytest.raises(DataError, match="with at least 10 alerts among 2 labelled examples"):
        precision_threshold([1, 0], [0.9, 0.1], 0.5)


# Intervals.


@pytest.mark.parametrize(
    ("hits", "total", "low", "high"),
    [(0, 10, 0.0, 0.27753), (10, 10, 0.72247, 1.0), (5, 10, 0.23659, 0.76341), (1, 1, 0.20655, 1.0)],
)
def test_intervals_are_wilsons(hits: int, total: int, low: float, high: float) -> None:
    found = budget_threshold([0.5], 1, truth=np.arange(total) < hits, probabilities=np.ones(total)).precision
    assert found is not None
    assert found.value == hits / total
    assert [found.low, found.high] == pytest.approx([low, high], abs=1e-5)


@pytest.mark.parametrize("share", [0.03, 0.5, 0.9])
def test_intervals_hold_the_true_share_about_95_times_in_100(share: float) -> None:
    rng = np.random.default_rng(6)
    held = 0
    for _ in range(1000):
        interval = budget_threshold([0.5], 1, truth=rng.random(80) < share, probabilities=np.ones(80)).precision
        assert interval is not None
        held += interval.low <= share <= interval.high
    assert 0.92 < held / 1000 < 0.985


# JSON and errors.

SOME = budget_threshold([0.9, 0.8, 0.7], 2, truth=[1, 0, 1], probabilities=[0.9, 0.85, 0.2])
SAVED = SOME.to_json()


@pytest.mark.parametrize("threshold", [SOME, budget_threshold([0.0], 1), macro_f1_threshold([1, 0], [0.1, 0.2])])
def test_json_round_trip(threshold: Threshold) -> None:
    assert Threshold.from_json(json.loads(json.dumps(threshold.to_json()))) == threshold


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"threshold must be an object of value, rule, alert_share, .* \(got None\)"),
        ({"value": 0.5}, "threshold must be an object of value"),
        ({**SAVED, "more": 1}, "threshold must be an object of value"),
        ({**SAVED, "value": float("nan")}, "threshold.value must be a finite number from 0 to 1"),
        ({**SAVED, "value": "0.5"}, "threshold.value must be"),
        ({**SAVED, "rule": "best"}, r"threshold.rule must be one of macro_f1, budget, precision, half \(got 'best'\)"),
        ({**SAVED, "rule": ["half"]}, "threshold.rule must be one of"),
        ({**SAVED, "alert_share": 2}, "threshold.alert_share must be"),
        ({**SAVED, "num_alerts": -1}, "threshold.num_alerts must be an integer from 0"),
        ({**SAVED, "num_labelled": 1.5}, "threshold.num_labelled must be an integer from 0"),
        ({**SAVED, "expected_precision": 1.1}, "threshold.expected_precision must be"),
        ({**SAVED, "expected_recall": True}, "threshold.expected_recall must be"),
        ({**SAVED, "precision": 0.5}, "threshold.precision must be an object of value, low, high"),
        ({**SAVED, "recall": {"value": 0.5, "low": 0.1, "high": 7}}, "threshold.recall.high must be"),
        ({**SAVED, "recall": {"value": 0.5, "low": 0.6, "high": 0.7}}, "threshold.recall must have its value between"),
    ],
)
def test_a_damaged_threshold_is_an_error(content: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Threshold.from_json(content)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: macro_f1_threshold([1, 1], [0.5, 0.6]), DataError, "a macro-F1 threshold needs at least one negative"),
        (lambda: macro_f1_threshold([0, 0], [0.5, 0.6]), DataError, "needs at least one positive"),
        (lambda: macro_f1_threshold([1, 0], [0.5, 1.6]), DataError, "from 0 to 1"),
        (lambda: budget_threshold([0.5], 0), UsageError, r"budget: must be at least 1 alert \(got 0\)"),
        (lambda: budget_threshold([0.5], 1, truth=[1]), UsageError, "truth, probabilities: must be passed together"),
        (lambda: budget_threshold([], 1), DataError, r"scores_of_all: must be a list, not empty \(got shape \(0,\)\)"),
        (lambda: budget_threshold([[0.5]], 1), DataError, r"got shape \(1, 1\)"),
        (lambda: budget_threshold([np.nan], 1), DataError, "must be finite"),
        (lambda: budget_threshold([5.0], 1), DataError, "from 0 to 1"),
        (lambda: budget_threshold([0.5], 1, truth=[1], probabilities=[2.0]), DataError, "from 0 to 1"),
        (
            lambda: precision_threshold([1, 0], [0.5, 0.6], 0),
            UsageError,
            "precision, min_alerts: must be a share above 0",
        ),
        (lambda: precision_threshold([1, 0], [0.5, 0.6], 0.5, min_alerts=0), UsageError, "got 0.5 and 0"),
        (lambda: precision_threshold([1, 0], [0.5, -0.6], 0.5), DataError, "from 0 to 1"),
    ],
)
def test_what_can_not_be(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_the_wanted_precision_can_be_that_of_another_population() -> None:
    rng = np.random.default_rng(0)
    probabilities = rng.random(400)
    truth = rng.random(400) < probabilities
    found = precision_threshold(truth, probabilities, 0.4, odds=0.25)
    above = probabilities >= found.value

    def naive(chosen: Any) -> float:
        """One positive of four is kept, the others are not in the population."""
        kept, others = truth[chosen].sum() / 4, (~truth[chosen]).sum()
        return float(kept / (kept + others))

    assert naive(above) >= 0.4
    lower = [value for value in probabilities if value < found.value]
    assert all(naive(probabilities >= value) < 0.4 for value in lower)
    assert found.precision is not None
    assert found.precision.value == truth[above].mean()
