"""Class shares: Bayes' rule in a loop, round trips, and shares recovered from simulated data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gtea.errors import DataError
from gtea.tasks.homogeneity import homogeneity_p_value
from gtea.tasks.priors import (
    correct_prior,
    estimate_priors_bbse,
    estimate_priors_em,
    priors_differ,
    softmax,
    undo_class_weights,
)

Table = list[list[float]]


def naive_correction(table: Table, trained: list[float], wanted: list[float]) -> Table:
    corrected = []
    for row in table:
        joint = [chance * to / before for chance, to, before in zip(row, wanted, trained, strict=True)]
        corrected.append([each / sum(joint) for each in joint])
    return corrected


def naive_em(table: Table, trained: list[float], steps: int) -> list[float]:
    shares = trained
    for _ in range(steps):
        corrected = naive_correction(table, trained, shares)
        shares = [sum(column) / len(table) for column in zip(*corrected, strict=True)]
    return shares


def shares_of(weights: list[float]) -> list[float]:
    return [weight / sum(weights) for weight in weights]


weight = st.floats(1e-3, 1)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Table, list[float], list[float]]:
    """Probabilities and two kinds of class shares."""
    num_classes = draw(st.integers(2, 4))
    weights = st.lists(weight, min_size=num_classes, max_size=num_classes)
    rows = draw(st.lists(weights, min_size=1, max_size=5))
    return [shares_of(row) for row in rows], shares_of(draw(weights)), shares_of(draw(weights))


def simulated(rng: np.random.Generator, shares: list[float], size: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes, and one measurement of each example: the classes' measurements have different means."""
    targets = rng.choice(len(shares), size, p=shares)
    return targets, rng.normal(2.0 * targets)


def bayes(measured: np.ndarray, shares: list[float]) -> np.ndarray:
    """The exact probabilities of the classes of ``simulated``."""
    logits = -((measured[:, None] - 2.0 * np.arange(len(shares))) ** 2) / 2 + np.log(shares)
    return softmax(logits)


@given(tables())
@settings(deadline=None)
def test_the_correction_is_bayes_rule_and_can_be_reverted(case: tuple[Table, list[float], list[float]]) -> None:
    table, trained, wanted = case
    corrected = correct_prior(table, trained, wanted)
    assert corrected == pytest.approx(np.array(naive_correction(table, trained, wanted)))
    assert corrected.sum(axis=1) == pytest.approx(1)
    assert correct_prior(corrected, wanted, trained) == pytest.approx(np.array(table))
    assert correct_prior(table, trained, trained) == pytest.approx(np.array(table))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20), weight, weight)
@settings(deadline=None)
def test_the_correction_keeps_the_ranking_of_two_classes(given_: list[float], trained: float, wanted: float) -> None:
    chances = np.sort(given_)
    corrected = correct_prior(chances, [1 - trained / 2, trained / 2], [1 - wanted / 2, wanted / 2])
    assert np.isfinite(corrected).all()
    assert (np.diff(corrected) >= 0).all()
    assert (np.diff(corrected)[np.diff(chances) > 1e-9] > 0).all()


def test_a_correction_worked_out_by_hand() -> None:
    # Trained with as many frauds as others, one in a thousand is one: odds of 9 become 9 / 999.
    corrected = correct_prior([0.9, 0.5], [0.5, 0.5], [0.999, 0.001])
    assert corrected == pytest.approx([9 / 1008, 0.001])
    table = correct_prior([[0.1, 0.9], [0.5, 0.5]], [10, 10], [999, 1])
    assert table[:, 1] == pytest.approx(corrected)
    assert table.sum(axis=1) == pytest.approx(1)


def test_certain_predictions_and_classes_that_are_not_wanted() -> None:
    assert correct_prior([0.0, 1.0], [0.5, 0.5], [0.999, 0.001]) == pytest.approx([0, 1])
    assert correct_prior([0.0, 0.3, 1.0], [0.5, 0.5], [1, 0]) == pytest.approx([0, 0, 0])
    table = correct_prior([[0.2, 0.3, 0.5], [0.0, 0.0, 1.0]], [0.3, 0.7, 0.0], [0.3, 0.7, 0.0])
    assert table == pytest.approx(np.array([[0.4, 0.6, 0], [0.5, 0.5, 0]]))


def test_class_weights_are_undone_by_the_same_rule() -> None:
    """Exact predictions of a model whose training weighs classes so that both count the same."""
    rng = np.random.default_rng(0)
    _, measured = simulated(rng, [0.9, 0.1], 50)
    balanced = bayes(measured, [0.5, 0.5])
    weights = [1 / (2 * 0.9), 1 / (2 * 0.1)]
    assert undo_class_weights(balanced, [900, 100], weights) == pytest.approx(bayes(measured, [0.9, 0.1]))
    assert undo_class_weights(balanced[:, 1], [0.9, 0.1], weights) == pytest.approx(bayes(measured, [0.9, 0.1])[:, 1])


@given(tables())
@settings(deadline=None, max_examples=40)
def test_em_equals_the_naive_iteration(case: tuple[Table, list[float], list[float]]) -> None:
    table, trained, _ = case
    found = estimate_priors_em(table, trained, tolerance=0, max_steps=7)
    assert found == pytest.approx(np.array(naive_em(table, trained, 7)))
    assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize("shares", [[0.5, 0.5], [0.99, 0.01], [0.3, 0.7], [0.6, 0.3, 0.1], [0.05, 0.05, 0.9]])
def test_both_estimates_recover_a_known_shift(shares: list[float]) -> None:
    rng = np.random.default_rng(1)
    trained = shares_of([1.0] * len(shares)) if shares[0] != 0.5 else [0.9, 0.1]
    targets, measured = simulated(rng, trained, 40_000)
    _, unlabelled = simulated(rng, shares, 40_000)
    predictions = bayes(unlabelled, trained)
    by_em = estimate_priors_em(predictions, trained)
    by_bbse = estimate_priors_bbse(targets, bayes(measured, trained), predictions)
    assert by_em == pytest.approx(shares, abs=0.01)
    assert by_bbse == pytest.approx(shares, abs=0.015)
    # The mean prediction is not an estimate: it lies between the old shares and the new.
    if not np.allclose(trained, shares):
        assert np.abs(predictions.mean(axis=0) - shares).max() > 3 * np.abs(by_em - shares).max()


def test_bbse_needs_no_calibrated_probabilities_and_em_does() -> None:
    rng = np.random.default_rng(2)
    trained, shares = [0.5, 0.5], [0.9, 0.1]
    targets, measured = simulated(rng, trained, 40_000)
    _, unlabelled = simulated(rng, shares, 40_000)
    known, predictions = (softmax(3 * np.log(bayes(each, trained))) for each in (measured, unlabelled))
    assert estimate_priors_bbse(targets, known, predictions) == pytest.approx(shares, abs=0.01)
    assert np.abs(estimate_priors_em(predictions, trained) - shares).max() > 0.03


def test_bbse_solves_for_the_shares_and_clips_them() -> None:
    known = [0.2, 0.2, 0.6, 0.6]
    # Mean predictions of 0.2 and 0.6: 0.3 is a quarter of the way.
    assert estimate_priors_bbse([0, 0, 1, 1], known, [0.3, 0.3]) == pytest.approx([0.75, 0.25])
    assert estimate_priors_bbse([0, 0, 1, 1], known, [0.1]) == pytest.approx([1, 0])
    assert estimate_priors_bbse([0, 0, 1, 1], known, [0.9]) == pytest.approx([0, 1])


def test_em_stays_with_classes_that_were_trained() -> None:
    found = estimate_priors_em([[0.5, 0.3, 0.2], [0.0, 0.0, 1.0]], [0.5, 0.5, 0.0])
    assert found[2] == 0
    assert found.sum() == pytest.approx(1)


def test_parts_differ_more_than_by_chance() -> None:
    assert priors_differ([90, 10], [900, 100]) == pytest.approx(1)
    assert priors_differ([50, 50], [90, 10]) < 1e-8
    assert priors_differ([90, 10, 0], [80, 20, 0]) == homogeneity_p_value([[90, 10], [80, 20]])
    # The statistic is 2 x (5^2 / 85 + 5^2 / 15) = 3.92; 3.84 is the 5 % point.
    assert priors_differ([90, 10], [80, 20]) == pytest.approx(0.0477, abs=0.0002)
    assert priors_differ([5, 0], [7, 0]) == 1


def test_p_values_are_even_if_nothing_differs() -> None:
    rng = np.random.default_rng(3)
    drawn = rng.multinomial(500, [0.7, 0.2, 0.1], (1000, 2))
    found = np.array([priors_differ(a, b) for a, b in drawn])
    for level in (0.05, 0.2, 0.5):
        assert (found < level).mean() == pytest.approx(level, abs=0.04)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: correct_prior([[0.5]], [1], [1]), r"at least two classes \(got shape \(1, 1\)\). Pass one row"),
        (lambda: correct_prior(0.5, [1, 1], [1, 1]), "must be a list, or a table"),
        (lambda: correct_prior([0.5, np.nan], [1, 1], [1, 1]), "scores: must be finite"),
        (lambda: correct_prior([[0.5, 0.5], [-2.0, 3.0]], [1, 1], [1, 1]), r"from 0 to 1 \(got -2.0 at 1, 0\)"),
        (lambda: correct_prior([[0.5, 0.5], [0.1, 0.3]], [1, 1], [1, 1]), r"sum to 1 \(got 0.4 in row 1\)"),
        (lambda: correct_prior([0.5], [1, 1, 1], [1, 1]), r"trained: must be the share of each of 2 classes"),
        (
            lambda: correct_prior([0.5], [1, 1], [1, -1]),
            r"wanted: .* none negative and not all 0 \(got \[1.0, -1.0\]\)",
        ),
        (lambda: correct_prior([0.5], [1, 1], [0, 0]), "not all 0"),
        (lambda: correct_prior([0.5], [1, 1], [np.nan, 1]), "wanted: must be the share"),
        (lambda: correct_prior([0.5], [1, 0], [0.9, 0.1]), r"trained: must be above 0 for each class that is wanted"),
        (lambda: estimate_priors_em(np.zeros((0, 2)), [1, 1]), r"probabilities: must not be empty \(got no rows\)"),
        (lambda: estimate_priors_bbse([0, 1], [0.2, 0.3], []), "predictions: must not be empty"),
        (lambda: estimate_priors_bbse([0, 0], [0.2, 0.3], [0.5]), r"of every class that is predicted \(got 1 of 2"),
        (lambda: estimate_priors_bbse([0, 1], [0.2, 0.3], np.eye(3)), r"\(got 2 of 3 classes\). Add validation"),
        (
            lambda: estimate_priors_bbse([0, 1], [0.3, 0.3], [0.5]),
            "validation_predictions: must differ between classes",
        ),
        (lambda: estimate_priors_bbse([0], [0.3, 0.3], [0.5]), r"targets: must have one class for each of 2 examples"),
        (lambda: estimate_priors_bbse([0, 2], [0.3, 0.3], [0.5]), r"indices of 2 classes \(got values from 0 to 2\)"),
        (lambda: estimate_priors_bbse([0.0, 1.0], [0.3, 0.3], [0.5]), "Pass integers from 0"),
        (lambda: priors_differ([1, 2], [0, 0]), "counts_a, counts_b: must be the share of each of 2 classes"),
        (lambda: priors_differ([1, 2], [1, 2, 3]), "counts_a, counts_b"),
    ],
)
def test_what_can_not_be(call: Callable[[], object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        call()
