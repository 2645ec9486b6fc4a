"""Calibration: naive fits, the rules of choice, rankings that stay, and gains on data that no fit has seen."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from gtea.errors import DataError, ModelError
from gtea.tasks.calibration import Calibration, fit_calibration
from gtea.tasks.metrics import expected_calibration_error, log_likelihood
from gtea.tasks.priors import correct_prior, softmax

EVEN = (0.5, 0.5)
TEMPERATURE = Calibration("temperature", prior=(0.9, 0.1), temperature=2.5)
SIGMOID = Calibration("sigmoid", slope=0.4, intercept=-1.5)
ISOTONIC = Calibration("isotonic", knots=(0.1, 0.3, 0.6), values=(0.05, 0.05, 0.8), mixed=1e-3)
ALL = (Calibration(), TEMPERATURE, SIGMOID, ISOTONIC)


def sigmoid(logits: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-logits)))


def logit(share: float) -> float:
    return math.log(share / (1 - share))


def two_columns(positive: np.ndarray) -> np.ndarray:
    return np.column_stack([1 - positive, positive])


def simulated(
    seed: int, size: int, share: float, *, sharp: float = 1.0, shift: float = 0.0, bend: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Classes, and predictions of an exact model whose log odds are then scaled, shifted and bent."""
    rng = np.random.default_rng(seed)
    targets = (rng.random(size) < share).astype(np.int64)
    evidence = 2 * (rng.normal(2.0 * targets) - 1)
    return targets, sigmoid(sharp * (evidence + bend * np.tanh(evidence) ** 2) + logit(share) + shift)


def exactly(seed: int, positives: int, negatives: int, **distortion: float) -> tuple[np.ndarray, np.ndarray]:
    """The same with a given number of each class."""
    targets, chances = simulated(seed, 40 * (positives + negatives), positives / (positives + negatives), **distortion)
    kept = np.concatenate([np.flatnonzero(targets == 1)[:positives], np.flatnonzero(targets == 0)[:negatives]])
    return targets[kept], chances[kept]


def steps(positives: int, negatives: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Predictions from certain to certain, of which all but the most extreme are worth nothing: no sigmoid."""
    rng = np.random.default_rng(positives)
    log_odds = rng.uniform(-10, 10, 100 * positives) + 2
    truth = rng.random(len(log_odds)) < np.select([log_odds < -6, log_odds > 10], [0.02, 0.98], 0.5)
    wanted = positives, positives if negatives is None else negatives
    kept = np.concatenate([np.flatnonzero(truth == kind)[:count] for kind, count in zip((1, 0), wanted, strict=True)])
    return truth[kept].astype(np.int64), sigmoid(log_odds[kept])


# The maps.


def naive_temperature(row: list[float], prior: list[float], temperature: float) -> list[float]:
    pairs = zip(row, prior, strict=True)
    weights = [share * ((chance + 1e-12) / share) ** (1 / temperature) for chance, share in pairs]
    return [weight / sum(weights) for weight in weights]


def test_maps_are_their_equations() -> None:
    chances = [0.0, 0.001, 0.1, 0.2, 0.45, 0.5, 0.7, 1.0]
    for chance, found in zip(chances, TEMPERATURE.apply(chances), strict=True):
        assert found == pytest.approx(naive_temperature([1 - chance, chance], [0.9, 0.1], 2.5)[1])
    for chance, found in zip(chances[1:-1], SIGMOID.apply(chances[1:-1]), strict=True):
        assert found == pytest.approx(1 / (1 + math.exp(-(0.4 * logit(chance) - 1.5))))
    curve = [0.05, 0.05, 0.05, 0.05, 0.05 + 0.75 * 0.5, 0.05 + 0.75 * 2 / 3, 0.8, 0.8]
    assert ISOTONIC.apply(chances) == pytest.approx(0.999 * np.array(curve) + 0.001 * np.array(chances))
    assert Calibration().apply(chances).tolist() == chances


def test_temperature_of_many_classes() -> None:
    table, prior = [[0.7, 0.2, 0.1], [0.05, 0.05, 0.9]], [0.6, 0.3, 0.1]
    found = Calibration("temperature", prior=tuple(prior), temperature=0.5).apply(table)
    assert found == pytest.approx(np.array([naive_temperature(row, prior, 0.5) for row in table]))


def test_an_account_that_nothing_is_known_of_keeps_the_share_of_its_class() -> None:
    assert TEMPERATURE.apply([0.1]) == pytest.approx([0.1])


@pytest.mark.parametrize("calibration", ALL)
@given(chances=st.lists(st.floats(0, 1), min_size=1, max_size=30))
@settings(deadline=None, max_examples=60)
def test_no_map_changes_a_ranking(calibration: Calibration, chances: list[float]) -> None:
    ordered = np.sort(chances)
    found = calibration.apply(ordered)
    assert np.isfinite(found).all()
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found) >= 0).all()
    assert (np.diff(found)[np.diff(ordered) > 1e-9] > 0).all()
    table = calibration.apply(two_columns(ordered))
    assert table.sum(axis=1) == pytest.approx(1)
    assert table[:, 1].tolist() == found.tolist()


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4).filter(any), min_size=1, max_size=10),
    st.floats(0.05, 20),
)
@settings(deadline=None, max_examples=60)
def test_rows_of_many_classes_sum_to_one_and_keep_their_order(rows: list[list[float]], temperature: float) -> None:
    table = np.array(rows)
    table /= table.sum(axis=1, keepdims=True)
    found = Calibration("temperature", prior=(0.25,) * 4, temperature=temperature).apply(table)
    assert np.isfinite(found).all()
    assert found.sum(axis=1) == pytest.approx(1)
    assert (np.take_along_axis(found, np.argsort(table, axis=1), axis=1)[:, :-1] <= found.max(axis=1)[:, None]).all()
    assert (np.take_along_axis(found, table.argmax(axis=1)[:, None], axis=1)[:, 0] == found.max(axis=1)).all()


def test_certain_predictions_stay_finite() -> None:
    for calibration in ALL:
        found = calibration.apply([[1.0, 0.0], [0.0, 1.0]])
        assert np.isfinite(found).all()
        assert found[0, 1] < found[1, 1]
    three = Calibration("temperature", prior=(1 / 3,) * 3, temperature=3).apply(np.eye(3))
    assert three == pytest.approx(np.eye(3), abs=1e-3)


def test_nothing_to_calibrate_is_nothing() -> None:
    for calibration in ALL:
        assert calibration.apply(np.zeros((0, 2))).shape == (0, 2)
        assert calibration.apply(np.zeros(0)).shape == (0,)


def test_probabilities_of_other_classes_are_an_error() -> None:
    with pytest.raises(ModelError, match=r"calibration: is for 2 classes \(got probabilities of 3\). Use it with"):
        SIGMOID.apply(np.eye(3))
    with pytest.raises(ModelError, match="is for 2 classes"):
        TEMPERATURE.apply(np.eye(4))
    with pytest.raises(DataError, match="from 0 to 1"):
        SIGMOID.apply([0.5, 1.5])


# JSON.


@pytest.mark.parametrize("calibration", ALL)
def test_json_round_trip(calibration: Calibration) -> None:
    content = json.loads(json.dumps(calibration.to_json()))
    assert Calibration.from_json(content) == calibration
    assert content["kind"] == calibration.kind


def test_a_fitted_calibration_survives_json() -> None:
    for positives, kind in ((20, "temperature"), (50, "sigmoid"), (500, "isotonic")):
        calibration = fit_calibration(*steps(positives), EVEN)
        assert calibration.kind == kind
        again = Calibration.from_json(json.loads(json.dumps(calibration.to_json())))
        assert again == calibration


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"calibration must be an object with a kind: none, temperature, sigmoid, isotonic \(got None\)"),
        ([], "must be an object with a kind"),
        ({}, "must be an object with a kind"),
        ({"kind": "platt"}, "must be an object with a kind"),
        ({"kind": ["none"]}, "must be an object with a kind"),
        ({"kind": "none", "slope": 1}, r"calibration must be an object of kind \(got"),
        ({"kind": "temperature", "temperature": 1.0}, "must be an object of kind, prior, temperature"),
        ({**TEMPERATURE.to_json(), "temperature": 0}, r"calibration.temperature must be .* from 0.05 to 20 \(got 0\)"),
        ({**TEMPERATURE.to_json(), "temperature": float("nan")}, "calibration.temperature must be a finite number"),
        ({**TEMPERATURE.to_json(), "prior": [0.5, 0.6]}, r"calibration.prior must be the shares .* sum to 1"),
        ({**TEMPERATURE.to_json(), "prior": [1.0]}, "shares of at least two classes"),
        ({**TEMPERATURE.to_json(), "prior": [-0.5, 1.5]}, r"calibration.prior\[0\] must be a finite number from 0"),
        ({**SIGMOID.to_json(), "slope": -1}, "calibration.slope must be a finite number from 0.001"),
        ({**SIGMOID.to_json(), "intercept": "x"}, "calibration.intercept must be a finite number"),
        ({**SIGMOID.to_json(), "intercept": float("inf")}, "calibration.intercept must be a finite number"),
        ({**ISOTONIC.to_json(), "knots": [0.1, 0.1, 0.6]}, r"calibration.knots must be ascending \(got \[0.1, 0.1"),
        ({**ISOTONIC.to_json(), "knots": []}, "calibration.knots must be a list"),
        ({**ISOTONIC.to_json(), "values": [0.1, 0.2]}, "calibration.values must be 3 numbers in ascending order"),
        ({**ISOTONIC.to_json(), "values": [0.3, 0.2, 0.8]}, "calibration.values must be 3 numbers"),
        ({**ISOTONIC.to_json(), "values": [0.3, 0.5, 1.8]}, r"calibration.values\[2\] must be"),
        ({**ISOTONIC.to_json(), "mixed": 2}, "calibration.mixed must be a finite number from 0 to 1"),
    ],
)
def test_a_damaged_calibration_is_an_error(content: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Calibration.from_json(content)


# The fits.


def naive_loss(
    targets: np.ndarray, table: np.ndarray, prior: list[float], temperature: float, shrinkage: float = 4
) -> float:
    rows = [naive_temperature(row, prior, temperature) for row in table.tolist()]
    misfit = -sum(math.log(row[target]) for row, target in zip(rows, targets.tolist(), strict=True))
    return misfit + shrinkage * (1 / temperature - 1 + math.log(temperature))


@pytest.mark.parametrize(("sharp", "size"), [(0.5, 5000), (2.5, 100), (2.5, 5000)])
def test_the_temperature_has_the_lowest_loss(sharp: float, size: int) -> None:
    targets, chances = exactly(0, size // 5, size - size // 5, sharp=sharp)
    fitted = fit_calibration(targets, chances, [0.8, 0.2], keep_prior=True)
    assert fitted.kind == "temperature"
    assert fitted.prior == pytest.approx([0.8, 0.2])
    grid = np.exp(np.linspace(-math.log(20), math.log(20), 400))
    losses = [naive_loss(targets, two_columns(chances), [0.8, 0.2], each, 100) for each in grid]
    assert fitted.temperature == pytest.approx(grid[np.argmin(losses)], rel=0.01)
    assert naive_loss(targets, two_columns(chances), [0.8, 0.2], fitted.temperature, 100) <= min(losses)
    # Other class shares: a hundred examples hardly move it from 1, thousands do.
    assert fitted.temperature == pytest.approx(sharp if size == 5000 else 1, rel=0.35)


def test_the_temperature_of_many_classes_has_the_lowest_loss() -> None:
    targets, table = many_classes(0, 200, sharp=3)
    fitted = fit_calibration(targets, table, [0.6, 0.3, 0.1])
    grid = np.exp(np.linspace(-math.log(20), math.log(20), 200))
    losses = [naive_loss(targets, table, [0.6, 0.3, 0.1], each) for each in grid]
    assert fitted.temperature == pytest.approx(grid[np.argmin(losses)], rel=0.02)


def many_classes(seed: int, size: int, *, sharp: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    shares = np.array([0.6, 0.3, 0.1])
    targets = rng.choice(3, size, p=shares)
    measured = rng.normal(1.5 * targets)
    lifts = -((measured[:, None] - 1.5 * np.arange(3)) ** 2) / 2
    return targets, softmax(np.log(shares) + sharp * lifts)


def test_few_examples_that_are_all_right_do_not_make_a_model_certain() -> None:
    for size in (1, 10, 499):
        targets = np.repeat([0, 1], size)
        fitted = fit_calibration(targets, np.where(targets == 1, 0.8, 0.2), EVEN, keep_prior=True)
        assert fitted.kind == "none"
    # From a thousand on, in each fold of the cross-validation too, it is no chance.
    targets = np.repeat([0, 1], 1000)
    fitted = fit_calibration(targets, np.where(targets == 1, 0.8, 0.2), EVEN, keep_prior=True)
    assert fitted.kind == "temperature"
    assert fitted.temperature < 0.5


def platt_loss(targets: np.ndarray, chances: np.ndarray, slope: float, intercept: float) -> float:
    positives, negatives = int(targets.sum()), int((1 - targets).sum())
    total = 0.0
    for target, chance in zip(targets.tolist(), chances.tolist(), strict=True):
        goal = (positives + 1) / (positives + 2) if target else 1 / (negatives + 2)
        predicted = 1 / (1 + math.exp(-(slope * logit(chance) + intercept)))
        total -= goal * math.log(predicted) + (1 - goal) * math.log(1 - predicted)
    return total


@pytest.mark.parametrize(("sharp", "shift"), [(2.0, 2.0), (0.5, -2.0)])
def test_the_sigmoid_has_the_lowest_loss(sharp: float, shift: float) -> None:
    targets, chances = exactly(1, 60, 140, sharp=sharp, shift=shift)
    fitted = fit_calibration(targets, chances, [0.7, 0.3])
    assert fitted.kind == "sigmoid"
    best = platt_loss(targets, chances, fitted.slope, fitted.intercept)
    for da, db in [(1e-3, 0), (-1e-3, 0), (0, 1e-3), (0, -1e-3), (1e-3, -1e-3), (0.5, 0.5), (-0.2, 1), (0.2, -1)]:
        assert platt_loss(targets, chances, fitted.slope + da, fitted.intercept + db) > best
    assert fitted.slope == pytest.approx(1 / sharp, rel=0.5)


def test_separated_classes_get_no_infinite_slope() -> None:
    targets = np.repeat([0, 1], 40)
    fitted = fit_calibration(targets, np.where(targets == 1, 0.95, 0.7), EVEN)
    assert fitted.kind == "sigmoid"
    # Platt's goals: 41 / 42 and 1 / 42.
    assert fitted.apply([0.95, 0.7]) == pytest.approx([41 / 42, 1 / 42])


@pytest.mark.parametrize("sharp", [1.0, 60.0])
def test_a_model_that_ranks_the_wrong_way_round_is_not_inverted(sharp: float) -> None:
    targets, chances = exactly(2, 50, 50, sharp=sharp)
    fitted = fit_calibration(1 - targets, chances, EVEN)
    assert (np.diff(fitted.apply(np.linspace(0, 1, 50))) > 0).all()
    assert fitted.apply(chances).mean() == pytest.approx(0.5, abs=0.05)


def test_a_model_that_says_the_same_of_everybody() -> None:
    targets = np.arange(200) % 4 == 0
    fitted = fit_calibration(targets, np.full(200, 0.5), EVEN)
    assert fitted.apply([0.5]) == pytest.approx([0.25], abs=0.01)


@pytest.mark.parametrize("digits", [1, 2, 6])
@pytest.mark.parametrize("seed", range(4))
def test_isotonic_equals_scikit_learn(seed: int, digits: int) -> None:
    targets, chances = simulated(seed, 2000, 0.4, sharp=2, bend=3)
    chances = np.round(chances, digits)
    fitted = fit_calibration(targets, chances, [0.6, 0.4])
    assert fitted.kind == "isotonic"
    reference = IsotonicRegression(out_of_bounds="clip").fit(chances, targets)
    assert fitted.values == pytest.approx(reference.predict(fitted.knots))
    anywhere = np.random.default_rng(seed).random(500)
    mixed = (1 - fitted.mixed) * reference.predict(anywhere) + fitted.mixed * anywhere
    assert fitted.apply(anywhere) == pytest.approx(mixed)


def test_isotonic_keeps_the_mean_of_a_rare_class() -> None:
    """Predictions hundreds of times too high: a fixed share of them would drown the calibrated ones."""
    targets, chances = exactly(3, 150, 60_000, sharp=1, shift=6, bend=3)
    fitted = fit_calibration(targets, chances, EVEN)
    assert fitted.kind == "isotonic"
    assert chances.mean() > 100 * targets.mean()
    assert fitted.apply(chances).mean() == pytest.approx(targets.mean(), rel=2e-3)
    other = fit_calibration(1 - targets, 1 - chances, EVEN)
    assert 1 - other.apply(1 - chances).mean() == pytest.approx(targets.mean(), rel=2e-3)


# The choice.


def test_which_kind_is_fitted_depends_on_the_examples() -> None:
    def kind(positives: int, negatives: int, **options: bool) -> str:
        return fit_calibration(*steps(positives, negatives), EVEN, **options).kind

    assert kind(500, 500) == "isotonic"
    assert kind(500, 499) == "sigmoid"
    assert kind(100, 900) == "isotonic"
    assert kind(99, 901) == "sigmoid"
    assert kind(30, 40) == "sigmoid"
    assert kind(29, 40) == "temperature"
    assert kind(40, 29) == "temperature"
    assert kind(500, 500, keep_prior=True) == "temperature"


def test_many_examples_of_a_straight_distortion_get_a_sigmoid() -> None:
    assert fit_calibration(*simulated(6, 5000, 0.2, sharp=2), [0.8, 0.2]).kind == "sigmoid"


def test_more_than_two_classes_get_a_temperature() -> None:
    targets, table = many_classes(1, 5000, sharp=2)
    assert fit_calibration(targets, table, [0.6, 0.3, 0.1]).kind == "temperature"


@pytest.mark.parametrize("size", [50, 500, 5000])
def test_exact_probabilities_are_mostly_left_alone(size: int) -> None:
    kinds = [fit_calibration(*simulated(seed, size, 0.3), [0.7, 0.3]).kind for seed in range(20)]
    assert kinds.count("none") >= 11


def test_examples_of_one_class_teach_nothing() -> None:
    assert fit_calibration([0, 0, 0], [0.1, 0.2, 0.3], EVEN) == Calibration()
    assert fit_calibration([1], [0.2], EVEN) == Calibration()


@pytest.mark.parametrize("size", [40, 300, 1500])
@pytest.mark.parametrize("digits", [1, 9])
def test_the_order_of_examples_has_no_effect(size: int, digits: int) -> None:
    targets, chances = simulated(7, size, 0.4, sharp=4, bend=2)
    chances = np.round(chances, digits)
    order = np.random.default_rng(0).permutation(size)
    first = fit_calibration(targets, chances, EVEN)
    assert first.kind != "none"
    assert first == fit_calibration(targets[order], chances[order], EVEN)
    assert first == fit_calibration(targets.astype(bool), two_columns(chances), EVEN)


# What it is good for.


@pytest.mark.parametrize(
    ("size", "share", "distortion"),
    [
        (60, 0.3, {"sharp": 3.0}),
        (300, 0.3, {"sharp": 3.0}),
        (300, 0.05, {"sharp": 3.0}),
        (300, 0.3, {"shift": 2.0}),
        (5000, 0.05, {"sharp": 3.0}),
        (5000, 0.3, {"sharp": 2.0, "bend": 2.0}),
        (5000, 0.3, {"sharp": 0.4}),
    ],
)
def test_new_data_get_better_probabilities(size: int, share: float, distortion: dict[str, float]) -> None:
    train, test = simulated(10, size, share, **distortion), simulated(11, 20_000, share, **distortion)
    calibration = fit_calibration(*train, [1 - share, share])
    targets, before = test
    after = calibration.apply(before)
    assert log_likelihood(targets, two_columns(after)) > log_likelihood(targets, two_columns(before)) + 0.01
    assert expected_calibration_error(targets, after) < 0.6 * expected_calibration_error(targets, before)


def test_new_data_of_many_classes_get_better_probabilities() -> None:
    calibration = fit_calibration(*many_classes(0, 500, sharp=3), [0.6, 0.3, 0.1])
    targets, before = many_classes(1, 20_000, sharp=3)
    after = calibration.apply(before)
    assert log_likelihood(targets, after) > log_likelihood(targets, before) + 0.1
    errors = [expected_calibration_error(each.argmax(1) == targets, each.max(1)) for each in (before, after)]
    assert errors[1] < 0.3 * errors[0]
    assert (after.argmax(axis=1) == before.argmax(axis=1)).mean() > 0.85


def test_a_temperature_does_not_raise_the_mean_of_a_rare_class() -> None:
    targets, chances = simulated(12, 20_000, 0.01, sharp=3)
    fitted = fit_calibration(targets, chances, [0.99, 0.01], keep_prior=True)
    assert fitted.temperature == pytest.approx(3, rel=0.1)
    assert fitted.apply(chances).mean() == pytest.approx(0.01, rel=0.15)
    around_zero = sigmoid(np.log(chances / (1 - chances)) / 3)
    assert around_zero.mean() > 0.05


def test_a_part_with_other_shares_teaches_confidence_only() -> None:
    """The validation part has as many positives as negatives; what will be scored is like the training part."""
    share, sharp = 0.02, 2.5
    targets, chances = simulated(13, 100_000, share, sharp=sharp)
    kept = np.concatenate([np.flatnonzero(targets == 1)[:1500], np.flatnonzero(targets == 0)[:1500]])
    prior = [1 - share, share]
    fitted = fit_calibration(targets[kept], chances[kept], prior, keep_prior=True)
    assert fitted.kind == "temperature"
    assert fitted.temperature == pytest.approx(sharp, rel=0.15)
    scored, before = simulated(14, 20_000, share, sharp=sharp)
    after = fitted.apply(before)
    assert after.mean() == pytest.approx(share, rel=0.2)
    biased = fit_calibration(targets[kept], chances[kept], prior).apply(before)
    assert biased.mean() > 5 * share
    # And corrected for its shares, it explains the part itself.
    corrected = correct_prior(fitted.apply(chances[kept]), prior, EVEN)
    assert expected_calibration_error(targets[kept], corrected) < 0.03
    assert expected_calibration_error(scored, after) < 0.01


def test_one_confident_mistake_does_not_set_the_scale() -> None:
    targets, chances = exactly(15, 20, 200)
    chances[0] = 0.0
    assert targets[0] == 1
    fitted = fit_calibration(targets, chances, [200, 20])
    assert fitted.temperature < 3


@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=2, max_size=80),
    st.floats(0.01, 0.99),
    st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_any_examples_give_a_calibration_that_ranks_alike(
    examples: list[tuple[bool, float]], share: float, keep_prior: bool
) -> None:
    targets, chances = np.array([each[0] for each in examples]), np.array([each[1] for each in examples])
    fitted = fit_calibration(targets, chances, [1 - share, share], keep_prior=keep_prior)
    assert Calibration.from_json(json.loads(json.dumps(fitted.to_json()))) == fitted
    found = fitted.apply(np.linspace(0, 1, 101))
    assert np.isfinite(found).all()
    assert (np.diff(found) >= 0).all()


@pytest.mark.parametrize("size", [40, 600])
@pytest.mark.parametrize("low", [0.0, 1e-30, 0.49])
def test_predictions_that_are_all_certain_or_all_vague(size: int, low: float) -> None:
    targets = np.repeat([1, 0], size)
    wrong = np.arange(len(targets)) % 5 == 0
    fitted = fit_calibration(targets, np.where((targets == 1) ^ wrong, 1 - low, low), EVEN)
    assert fitted.apply([low, 1 - low]) == pytest.approx([0.2, 0.8], abs=0.03)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit_calibration([], [], EVEN), "targets: must have one class for each of 0 examples, not empty"),
        (lambda: fit_calibration([0, 1], [0.5], EVEN), "targets: must have one class for each of 1 examples"),
        (lambda: fit_calibration([0, 2], [0.5, 0.5], EVEN), "targets: must be indices of 2 classes"),
        (lambda: fit_calibration([0, 1], [0.5, 0.5], [1, 1, 1]), "train_prior: must be the share of each of 2 classes"),
        (lambda: fit_calibration([0, 1], [0.5, 1.5], EVEN), "probabilities: must be from 0 to 1"),
    ],
)
def test_what_can_not_be_fitted(call: Callable[[], object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        call()


def test_half_the_shift_is_what_a_sigmoid_adds() -> None:
    assert SIGMOID.with_half_the_shift() == Calibration("sigmoid", slope=0.4, intercept=-0.75)
    for other in (Calibration(), TEMPERATURE, ISOTONIC):
        assert other.with_half_the_shift() == other
