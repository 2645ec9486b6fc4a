from __future__ import annotations

import json

import numpy as np
import pytest

from gtea.errors import ModelError
from gtea.features.scaling import TimeScaler, fit_times

NOW = 1_700_000_000


def test_days_since_the_first_event() -> None:
    scaler = fit_times(NOW, NOW + 10 * 86_400, "s")
    assert scaler.span == 10
    scaled = scaler.transform(np.array([NOW, NOW + 43_200, NOW - 86_400]), "s")
    assert scaled.dtype == np.float32
    assert scaled.tolist() == [0, 0.5, -1]


def test_neighbouring_seconds_stay_apart() -> None:
    """Cast straight to float32, unix seconds step by 128."""
    scaled = fit_times(NOW, NOW + 1, "s").transform(np.arange(NOW + 10**6, NOW + 10**6 + 100), "s")
    assert len(np.unique(scaled)) == 100


@pytest.mark.parametrize(("unit", "fineness"), [("us", 10**6), ("ns", 10**9)])
def test_a_finer_store_of_the_same_events_gives_the_same_bytes(unit: str, fineness: int) -> None:
    times = NOW + np.random.default_rng(0).integers(0, 10**8, 1_000)
    coarse, fine = fit_times(NOW, NOW + 10**8, "s"), fit_times(NOW * fineness, (NOW + 10**8) * fineness, unit)
    assert coarse == fine
    wanted = coarse.transform(times, "s").tobytes()
    assert coarse.transform(times * fineness, unit).tobytes() == wanted


def test_an_origin_finer_than_the_store_is_kept() -> None:
    scaler = TimeScaler(NOW * 10**9 + 500_000_000, 10**9, 1.0)
    assert scaler.transform(np.array([NOW + 2]), "s").tolist() == [1.5]


def test_spans_have_no_origin_and_keep_a_second_after_years() -> None:
    scaler = fit_times(NOW, NOW + 1, "s")
    assert scaler.transform_spans(np.array([0, 43_200]), "s").tolist() == [0, 0.5]
    assert scaler.transform_spans(np.array([86_400_000_000]), "us").tolist() == [1]
    assert scaler.stored_per_unit("us") == 86_400_000_000
    assert len(np.unique(scaler.transform_spans(np.arange(100), "s"))) == 100


@pytest.mark.parametrize(("span", "unit"), [(0, 1), (10_000, 1), (10_001, 10), (2_000_000, 1_000)])
def test_counters_choose_a_power_of_ten(span: int, unit: int) -> None:
    scaler = fit_times(5, 5 + span, "step")
    assert (scaler.unit, scaler.span, scaler.steps) == (unit, span / unit, True)
    assert scaler.transform(np.array([5 + unit]), "step").tolist() == [1]


def test_dates_are_no_steps() -> None:
    with pytest.raises(ModelError, match="times: the store has steps and the model was trained on dates"):
        fit_times(0, 1, "s").transform(np.array([0]), "step")
    with pytest.raises(ModelError, match="times: the store has dates and the model was trained on steps"):
        fit_times(0, 1, "step").transform(np.array([0]), "us")


def test_a_scaler_survives_json() -> None:
    scaler = fit_times(NOW, NOW + 12_345, "s", unit_seconds=3_600)
    assert TimeScaler.from_json(json.loads(json.dumps(scaler.to_json()))) == scaler
