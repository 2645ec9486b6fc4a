"""Instants that users name, as stored times."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest

from gtea.errors import UsageError
from gtea.store.time_units import date_text, parse_instant, span_text, stored_per_second, unit_ratio


@pytest.mark.parametrize(
    ("instant", "unit", "input_unit", "stored"),
    [
        (5, "s", "s", 5),
        (np.int32(5), "ns", "s", 5),
        ("5", "us", "s", 5_000_000),
        ("2.5", "s", "s", 3),
        ("1500", "s", "ms", 2),
        ("2", "s", "days", 172_800),
        ("7.2", "step", "step", 8),
        ("7", "s", "auto", 7),
        ("1970-01-02", "s", "auto", 86_400),
        ("1970-01-01T00:00:00.5Z", "s", "auto", 1),
        ("1970-01-01T01:00:00+01:00", "us", "auto", 0),
        (dt.datetime(1970, 1, 1, 0, 0, 1), "ns", "auto", 10**9),
    ],
)
def test_the_smallest_stored_time_that_is_not_before(instant: Any, unit: str, input_unit: str, stored: int) -> None:
    assert parse_instant(instant, unit, input_unit) == stored


@pytest.mark.parametrize("instant", [True, 1.5, None, "soon", "1e999999999", "1e-999999999", "nan"])
def test_what_is_no_instant_is_refused(instant: Any) -> None:
    with pytest.raises(UsageError, match="as_of: must be"):
        parse_instant(instant, "s", "s")


def test_steps_are_not_dates() -> None:
    with pytest.raises(UsageError, match="this store counts steps, not dates"):
        parse_instant("2024-01-31", "step", "step")


def test_times_for_people() -> None:
    assert date_text(0, "s") == "1970-01-01T00:00:00Z"
    assert date_text(1_500_000, "us") == "1970-01-01T00:00:01.500000Z"
    assert date_text(17, "step") == "17"
    assert date_text(10**15, "s").startswith("the year 3169")


@pytest.mark.parametrize(
    ("length", "unit", "text"),
    [
        (0, "s", "0 seconds"),
        (1, "s", "1 second"),
        (500_000, "us", "0.5 seconds"),
        (119, "s", "119 seconds"),
        (120, "s", "2 minutes"),
        (720 * 10**9, "ns", "12 minutes"),
        (3 * 3_600 + 1_800, "s", "3.5 hours"),
        (2 * 86_400, "s", "2 days"),
        (700 * 86_400, "s", "700 days"),
        (803 * 86_400, "s", "2.2 years"),
        (1, "step", "1 step"),
        (12_345, "step", "12,345 steps"),
    ],
)
def test_spans_for_people(length: int, unit: str, text: str) -> None:
    assert span_text(length, unit) == text


def test_ratios() -> None:
    assert (unit_ratio("s", "ns"), unit_ratio("us", "us"), unit_ratio("us", "ns")) == (10**9, 1, 1000)
    assert (stored_per_second("us"), stored_per_second("step")) == (10**6, 1)
