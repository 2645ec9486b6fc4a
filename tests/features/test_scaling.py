from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from gtea.features.scaling import ColumnScaler, LogScale, fit_columns, heavy_tailed

GENERATOR = np.random.default_rng(4)


@pytest.mark.parametrize(
    ("column", "heavy"),
    [
        (GENERATOR.uniform(-5, 9, 20_000), False),
        (GENERATOR.normal(100, 3, 20_000), False),
        (GENERATOR.exponential(2, 20_000), False),
        (GENERATOR.lognormal(3, 1, 20_000), True),
        (-GENERATOR.lognormal(3, 1, 20_000), True),
        (GENERATOR.pareto(1.5, 20_000), True),
        (np.full(100, 7.0), False),
        (np.zeros(0), False),
    ],
)
def test_heavy_tails_are_told_from_light_ones(column: NDArray[np.float64], heavy: bool) -> None:
    assert heavy_tailed(column) == heavy


def test_one_absurd_value_does_not_decide() -> None:
    column = GENERATOR.normal(size=20_000)
    column[0] = 1e12
    assert not heavy_tailed(column)


@pytest.mark.parametrize("log", ["auto", "always", "never"])
def test_columns_come_out_with_mean_0_and_deviation_1(log: LogScale) -> None:
    values = np.stack([GENERATOR.lognormal(3, 2, 5_000), GENERATOR.normal(50, 4, 5_000)], axis=1)
    scaler = fit_columns(["amount", "age"], values, log=log)
    scaled = scaler.transform(values)
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(scaled.std(axis=0), 1, atol=1e-4)
    assert [small > 0 for small in scaler.small] == {"auto": [True, False], "always": [True] * 2, "never": [False] * 2}[
        log
    ]


def test_a_column_can_be_told_to_be_on_a_log_scale() -> None:
    values = GENERATOR.normal(size=(100, 2))
    scaler = fit_columns(["a", "gap"], values, log="never", always_log=["gap"])
    assert [small > 0 for small in scaler.small] == [False, True]


def test_the_log_scale_is_the_one_described() -> None:
    values = np.array([[-100.0], [0.0], [1.0], [100.0]])
    scaler = ColumnScaler(("x",), (2.0,), (0.5,), (4.0,))
    wanted = (np.array([-np.log(51), 0, np.log(1.5), np.log(51)]) - 0.5) / 4
    np.testing.assert_allclose(scaler.transform(values)[:, 0], wanted, rtol=1e-6)


def test_the_currency_does_not_matter() -> None:
    amounts = GENERATOR.lognormal(3, 2, (5_000, 1))
    in_coins, in_notes = fit_columns(["x"], amounts * 1e18), fit_columns(["x"], amounts)
    np.testing.assert_allclose(in_coins.transform(amounts * 1e18), in_notes.transform(amounts), atol=1e-5)


@pytest.mark.parametrize("value", [0.0, 0.1, -3e30, np.float32(1 / 3)])
@pytest.mark.parametrize("log", ["auto", "always"])
def test_a_constant_column_becomes_zeros(value: float, log: LogScale) -> None:
    values = np.full((1_001, 1), value, dtype=np.float32)
    assert (fit_columns(["x"], values, log=log).transform(values) == 0).all()


def test_no_rows_leave_columns_as_they_are() -> None:
    scaler = fit_columns(["x"], np.zeros((0, 1)))
    assert scaler.transform(np.array([[3.5]])).tolist() == [[3.5]]
    assert scaler.transform(np.zeros((0, 1))).shape == (0, 1)


def test_no_columns() -> None:
    scaler = fit_columns([], np.zeros((5, 0)))
    assert scaler.transform(np.zeros((5, 0))).shape == (5, 0)


def test_a_scaler_survives_json() -> None:
    scaler = fit_columns(["a", "b"], GENERATOR.lognormal(size=(100, 2)))
    assert ColumnScaler.from_json(json.loads(json.dumps(scaler.to_json()))) == scaler


@given(arrays(np.float32, st.integers(1, 40), elements=st.floats(-1e6, 1e6, width=32)), st.integers(0, 39))
def test_a_row_is_scaled_as_if_it_were_alone(column: NDArray[np.float32], place: int) -> None:
    """NumPy's vectorised log1p must not treat the ends of an array differently: batches are compared by their bytes."""
    scaler = ColumnScaler(("x",), (0.37,), (1.25,), (2.5,))
    place %= len(column)
    together, alone = scaler.transform(column[:, None])[place], scaler.transform(column[place : place + 1, None])[0]
    assert together.tobytes() == alone.tobytes()
