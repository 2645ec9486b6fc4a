"""What is done to raw probabilities: steps in their order, rankings that stay, and JSON that is checked."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gtea.errors import ModelError, UsageError
from gtea.tasks.calibration import Calibration, fit_calibration
from gtea.tasks.metrics import log_likelihood
from gtea.tasks.probability_correction import ProbabilityCorrection, fit_correction

Floats = NDArray[np.float64]
SHARES, WEIGHTS, POPULATION = (0.9, 0.1), (5 / 9, 5.0), (0.999, 0.001)
SIGMOID = Calibration("sigmoid", slope=0.4, intercept=-1.5)
DOUBT = 0.05
FULL = ProbabilityCorrection(SHARES, WEIGHTS, SIGMOID, DOUBT, POPULATION)


def two_columns(positive: Floats) -> Floats:
    return np.column_stack([1 - positive, positive])


def random_table(num_examples: int, num_classes: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).dirichlet(np.ones(num_classes), num_examples)


def odds_times(table: Floats, factors: tuple[float, ...]) -> Floats:
    """Bayes' rule, one row at a time."""
    rows = [[p * factor for p, factor in zip(row, factors, strict=True)] for row in table]
    return np.array([[value / sum(row) for value in row] for row in rows])


def test_the_steps_are_taken_in_their_order() -> None:
    raw = random_table(50, 2)
    unweighted = odds_times(raw, (1 / WEIGHTS[0], 1 / WEIGHTS[1]))
    log_odds = np.log(unweighted[:, 1] / unweighted[:, 0])
    calibrated = two_columns(1 / (1 + np.exp(-(0.4 * log_odds - 1.5))))
    doubted = np.array([[0.95 * p + 0.05 * share for p, share in zip(row, SHARES, strict=True)] for row in calibrated])
    expected = odds_times(doubted, (POPULATION[0] / SHARES[0], POPULATION[1] / SHARES[1]))
    np.testing.assert_allclose(FULL.apply(raw), expected, rtol=1e-6)
    # In another order the result is another one: the sigmoid is no shift of log odds.
    swapped = ProbabilityCorrection(calibration=SIGMOID).apply(raw)
    swapped = odds_times(odds_times(swapped, (1 / WEIGHTS[0], 1 / WEIGHTS[1])), (0.999 / 0.9, 0.001 / 0.1))
    assert np.abs(swapped - expected).max() > 1e-3


@pytest.mark.parametrize("num_classes", [2, 4])
def test_steps_that_are_not_needed_change_nothing(num_classes: int) -> None:
    raw = random_table(20, num_classes)
    np.testing.assert_array_equal(ProbabilityCorrection().apply(raw), raw)
    even = ProbabilityCorrection((1 / num_classes,) * num_classes, None)
    np.testing.assert_array_equal(even.apply(raw), raw)


@pytest.mark.parametrize("num_classes", [2, 3])
def test_class_weights_are_undone_exactly(num_classes: int) -> None:
    """Weighted training sees class c as often as share times weight: its exact answers become those without."""
    rng = np.random.default_rng(1)
    shares, weights = rng.dirichlet(np.ones(num_classes)), rng.uniform(0.2, 9, num_classes)
    evidence = rng.lognormal(size=(30, num_classes))
    exact = odds_times(evidence, tuple(shares))
    weighted = odds_times(evidence, tuple(shares * weights))
    found = ProbabilityCorrection(tuple(shares), tuple(weights)).apply(weighted)
    np.testing.assert_allclose(found, exact, rtol=1e-9)


@pytest.mark.parametrize(
    "calibration",
    [
        Calibration(),
        Calibration("temperature", prior=SHARES, temperature=2.5),
        SIGMOID,
        Calibration("isotonic", knots=(0.1, 0.3, 0.6), values=(0.05, 0.05, 0.8), mixed=1e-3),
    ],
)
@pytest.mark.parametrize("class_weights", [None, WEIGHTS])
@pytest.mark.parametrize("population", [None, POPULATION])
@pytest.mark.parametrize("doubt", [0.0, DOUBT])
def test_the_ranking_stays(
    calibration: Calibration,
    class_weights: tuple[float, ...] | None,
    population: tuple[float, ...] | None,
    doubt: float,
) -> None:
    correction = ProbabilityCorrection(SHARES, class_weights, calibration, doubt, population)
    chances = np.sort(np.random.default_rng(2).random(500))
    corrected = correction.apply(two_columns(chances))[:, 1]
    assert (np.diff(corrected) > 0).all()
    assert ((corrected >= 0) & (corrected <= 1)).all()


def simulated(
    seed: int, size: int, share: float, *, sharp: float = 1.0, prior: float | None = None
) -> tuple[NDArray[np.int64], Floats]:
    """Classes, and a model's probabilities, right for a share of positives (that of the classes unless given)."""
    rng = np.random.default_rng(seed)
    targets = (rng.random(size) < share).astype(np.int64)
    prior = share if prior is None else prior
    evidence = 2 * (rng.normal(2.0 * targets) - 1)
    return targets, two_columns(1 / (1 + np.exp(-(sharp * evidence + np.log(prior / (1 - prior))))))


def test_shares_are_those_of_training() -> None:
    targets, raw = simulated(0, 300, 0.3)
    found = fit_correction(np.array([210.0, 90.0]), None, targets, raw)
    assert found.shares == pytest.approx((0.7, 0.3))
    assert found.class_weights is None
    assert found.population is None


def test_the_calibration_is_fitted_to_what_class_weights_were_undone_of() -> None:
    targets, exact = simulated(1, 2000, 0.1, sharp=3.0)
    weighted = odds_times(exact, WEIGHTS)
    counts = np.array([1800.0, 200.0])
    found = fit_correction(counts, np.array(WEIGHTS), targets, weighted)
    assert found.class_weights == pytest.approx(WEIGHTS)
    expected = fit_calibration(targets, odds_times(weighted, (1 / WEIGHTS[0], 1 / WEIGHTS[1])), counts)
    assert found.calibration.kind == expected.kind
    np.testing.assert_allclose(found.calibration.apply(exact), expected.apply(exact), atol=1e-6)
    assert log_likelihood(targets, found.apply(weighted)) > log_likelihood(targets, exact) + 0.01
    assert found.apply(weighted)[:, 1].mean() == pytest.approx(targets.mean(), abs=0.01)


def test_other_class_shares_in_the_validation_part_are_not_learnt() -> None:
    """Trained with 10 % positives, validated with 50 %: what will be scored has 10 % again, as far as one knows."""
    counts = np.array([900.0, 100.0])
    same, same_raw = simulated(2, 1500, 0.1)
    other, other_raw = simulated(2, 1500, 0.5, prior=0.1)
    alike, unlike = fit_correction(counts, None, same, same_raw), fit_correction(counts, None, other, other_raw)
    assert unlike.calibration.kind in ("none", "temperature")
    fresh, raw = simulated(3, 20_000, 0.1)
    for correction in (alike, unlike):
        assert correction.apply(raw)[:, 1].mean() == pytest.approx(0.1, abs=0.01)
    # Without this rule the mean would follow the validation part.
    learnt = fit_calibration(other, other_raw, counts)
    assert learnt.apply(raw)[:, 1].mean() > 0.15
    assert log_likelihood(fresh, unlike.apply(raw)) > log_likelihood(fresh, learnt.apply(raw)) + 0.01


def test_a_small_difference_of_class_shares_may_be_chance() -> None:
    """10 % in training and 11 % in validation: with other examples it might be the other way round."""
    targets, raw = simulated(4, 400, 0.1)
    counts = np.array([900.0, 100.0]) * (1 - 0.11) / 0.9
    expected = fit_calibration(targets, raw, counts)
    assert fit_correction(counts, None, targets, raw).calibration == expected


def test_overconfidence_is_learnt_with_any_class_shares() -> None:
    """That the model is too sure shows in both parts, and must be corrected in both."""
    counts = np.array([900.0, 100.0])
    targets, raw = simulated(5, 2000, 0.5, sharp=3.0, prior=0.1)
    found = fit_correction(counts, None, targets, raw)
    assert found.calibration.kind == "temperature"
    assert found.calibration.temperature == pytest.approx(3.0, rel=0.15)


def test_three_classes() -> None:
    rng = np.random.default_rng(6)
    logits = rng.normal(size=(600, 3))
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    targets = np.array([rng.choice(3, p=row) for row in chances])
    sure = chances**4 / (chances**4).sum(axis=1, keepdims=True)
    found = fit_correction(np.bincount(targets).astype(np.float64), None, targets, sure)
    assert found.calibration.kind == "temperature"
    np.testing.assert_allclose(found.apply(sure), chances, atol=0.05)


def test_a_class_that_only_the_validation_part_has() -> None:
    targets = np.array([0, 1, 2] * 20)
    raw = random_table(60, 3)
    found = fit_correction(np.array([30.0, 30.0, 0.0]), np.array([1.0, 1.0, 0.0]), targets, raw)
    assert found.shares == (0.5, 0.5, 0.0)
    assert np.isfinite(found.apply(raw)).all()


@pytest.mark.parametrize("positive", [0, 1])
def test_the_share_of_positives_in_the_population(positive: int) -> None:
    """All frauds and one in a hundred of the rest were labelled: odds fall by the same hundred."""
    sampled = ProbabilityCorrection((0.5, 0.5))
    found = sampled.for_prevalence(1 / 101, positive)
    assert found.population is not None
    assert found.population[positive] == pytest.approx(1 / 101)
    assert sum(found.population) == pytest.approx(1)
    raw = random_table(20, 2)
    before, after = (each[:, positive] / each[:, 1 - positive] for each in (raw, found.apply(raw)))
    np.testing.assert_allclose(after, before / 100, rtol=1e-9)
    again = found.for_prevalence(0.5, positive)
    np.testing.assert_allclose(again.apply(raw), raw, rtol=1e-12)


@pytest.mark.parametrize("shares", [(), (0.2, 0.3, 0.5)])
def test_prevalence_is_for_two_classes(shares: tuple[float, ...]) -> None:
    with pytest.raises(UsageError, match=rf"^--prevalence: needs two classes \(got {len(shares)}\)\. Leave it out\.$"):
        ProbabilityCorrection(shares).for_prevalence(0.1, 0)


@pytest.mark.parametrize(
    "correction",
    [
        FULL,
        ProbabilityCorrection(SHARES),
        replace(FULL, class_weights=None),
        replace(FULL, population=None),
        replace(FULL, doubt=0.0),
        ProbabilityCorrection((0.5, 0.5, 0.0), (2 / 3, 2 / 3, 0.0), Calibration("temperature", (0.2, 0.3, 0.5), 2.0)),
    ],
)
def test_json_brings_it_back(correction: ProbabilityCorrection) -> None:
    text = json.dumps(correction.to_json(), allow_nan=False)
    assert ProbabilityCorrection.from_json(json.loads(text)) == correction


def test_models_without_doubt_have_none() -> None:
    content = FULL.to_json()
    del content["doubt"]
    assert ProbabilityCorrection.from_json(content) == replace(FULL, doubt=0.0)


def test_doubt_bounds_the_loss_of_a_mistake_that_seemed_impossible() -> None:
    certain = two_columns(np.array([1.0, 0.0, 1 - 1e-16]))
    doubted = ProbabilityCorrection((0.5, 0.5), doubt=0.01).apply(certain)
    np.testing.assert_allclose(doubted[:, 1], [0.995, 0.005, 0.995], rtol=1e-9)


def test_balanced_classes_keep_half_a_shift_and_get_doubt() -> None:
    """Two windows of one model: in the one it says too little of the second class by 2 log odds."""
    targets, raw = simulated(4, 5000, 0.5)
    odds = np.log(raw[:, 1] / raw[:, 0]) - 2.0
    shifted = two_columns(1 / (1 + np.exp(-odds)))
    whole, half = (fit_correction(np.ones(2), None, targets, shifted, later=True, balanced=b) for b in (False, True))
    assert whole.calibration.kind == "sigmoid"
    assert half.calibration == replace(whole.calibration, intercept=whole.calibration.intercept / 2)
    assert whole.calibration.intercept > 1
    assert (whole.doubt, half.doubt) == (0.0, 0.01)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shares": None}, r"calibration\.shares must be a list of numbers, not empty \(got None\)"),
        ({"shares": []}, r"calibration\.shares must be a list of numbers, not empty"),
        ({"shares": [1.0]}, r"calibration\.shares must be the shares of at least two classes, which sum to 1"),
        ({"shares": [0.5, 0.6]}, r"calibration\.shares must be the shares of at least two classes, which sum to 1"),
        ({"shares": [1.5, -0.5]}, r"calibration\.shares\[0\] must be a finite number from 0 to 1 \(got 1\.5\)"),
        ({"shares": ["a", 0.5]}, r"calibration\.shares\[0\] must be a finite number"),
        ({"class_weights": [1.0]}, r"calibration\.class_weights must have 2 numbers, as many as shares \(got \[1\.0\]"),
        ({"class_weights": [1.0, -1.0]}, r"calibration\.class_weights\[1\] must be a finite number from 0"),
        ({"class_weights": [1.0, float("nan")]}, r"calibration\.class_weights\[1\] must be a finite number from 0"),
        ({"class_weights": 5}, r"calibration\.class_weights must be a list of numbers"),
        ({"population": [0.5, 0.5, 0.0]}, r"calibration\.population must have 2 numbers, as many as shares"),
        ({"population": [0.5, 0.4]}, r"calibration\.population must be the shares of at least two classes"),
        ({"calibration": None}, r"calibration must be an object with a kind"),
        ({"calibration": {"kind": "sigmoid"}}, r"calibration must be an object of kind, slope, intercept"),
        ({"doubt": 1.5}, r"calibration\.doubt must be a finite number from 0 to 1"),
        ({"more": 1}, r"calibration must be an object of shares, class_weights, calibration, doubt, population"),
    ],
)
def test_damaged_json_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        ProbabilityCorrection.from_json({**FULL.to_json(), **changes})


@pytest.mark.parametrize("content", [None, [], "none", {}])
def test_something_else_is_refused(content: object) -> None:
    with pytest.raises(ModelError, match=r"calibration must be an object of shares, class_weights"):
        ProbabilityCorrection.from_json(content)
