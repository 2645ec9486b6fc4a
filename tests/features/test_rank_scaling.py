"""Ranks: where a value stands among the different values of the training window."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from gtea.features.scaling import RankScaler, fit_ranks
from gtea.nn.heads import NUM_BINS

numbers = st.floats(-1e12, 1e12) | st.just(np.nan)
tables = hnp.arrays(np.float64, st.tuples(st.integers(0, 200), st.just(2)), elements=numbers)


def test_different_values_are_counted_not_rows() -> None:
    values = np.array([1.0] * 1000 + [2.0, 30.0, 500.0])[:, None]
    ranks = fit_ranks(["x"], values).transform(np.array([[1.0], [2.0], [30.0], [500.0], [16.0]]))
    assert ranks[:, 0].tolist() == np.array([0, 1 / 3, 2 / 3, 1, 0.5], dtype=np.float32).tolist()


def test_what_lies_outside_is_at_the_end_and_what_never_was_is_last() -> None:
    ranks = fit_ranks(["x"], np.array([[3.0], [7.0]])).transform(np.array([[-1e9], [1e9], [np.nan], [np.inf]]))
    assert ranks[:, 0].tolist() == [0, 1, 1, 1]


def test_longer_ago_than_ever_is_not_never() -> None:
    """The last of the bins that networks read is full for what never was, and empty for all numbers."""
    scaler = fit_ranks(["x"], np.array([[3.0], [5.0], [7.0]]), with_nan=True)
    ranks = scaler.transform(np.array([[3.0], [5.0], [7.0], [1e9], [np.inf], [np.nan]]))[:, 0]
    last = 1 - 1 / NUM_BINS
    assert ranks.tolist() == [0, last / 2, last, last, last, 1]


def test_a_column_that_never_changes_says_nothing() -> None:
    assert fit_ranks(["x"], np.full((5, 1), 4.0)).transform(np.array([[1.0], [9.0]])).tolist() == [[0], [0]]
    assert fit_ranks(["x"], np.empty((0, 1))).transform(np.array([[1.0]])).tolist() == [[0]]


@given(tables, tables, st.booleans())
def test_ranks_keep_the_order_and_stay_within_bounds(
    training: NDArray[np.float64], values: NDArray[np.float64], with_nan: bool
) -> None:
    scaler = fit_ranks(["a", "b"], training, with_nan=with_nan)
    ranks = scaler.transform(values)
    assert ((ranks >= 0) & (ranks <= 1)).all()
    for i in range(2):
        order = np.argsort(np.where(np.isnan(values[:, i]), np.inf, values[:, i]), kind="stable")
        assert (np.diff(ranks[order, i]) >= 0).all()


@given(tables, tables, st.randoms())
def test_a_row_does_not_depend_on_the_others(
    training: NDArray[np.float64], values: NDArray[np.float64], random: Random
) -> None:
    scaler = fit_ranks(["a", "b"], training)
    order = list(range(len(values)))
    random.shuffle(order)
    assert np.array_equal(scaler.transform(values[order]), scaler.transform(values)[order])
    for row in range(min(3, len(values))):
        assert np.array_equal(scaler.transform(values[row : row + 1])[0], scaler.transform(values)[row])


@given(tables, st.booleans())
def test_it_comes_back_from_its_file(training: NDArray[np.float64], with_nan: bool) -> None:
    scaler = fit_ranks(["a", "b"], training, with_nan=with_nan)
    assert RankScaler.from_json(scaler.to_json()) == scaler
