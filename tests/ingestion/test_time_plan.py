"""Times in every form, and what becomes of them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pyarrow as pa
import pytest

from gtea.errors import DataError, UsageError
from gtea.ingestion.ingest import ingest
from gtea.store.store import Store
from gtea.store.time_units import date_text

NOON = 1_600_000_000  # 2020-09-13T12:26:40Z


def stored(tmp_path: Path, times: pa.Array, **options: Any) -> Store:
    n = len(times)
    table = pa.table({"a": ["x"] * n, "b": [f"y{i:02d}" for i in range(n)], "when": times})
    return ingest(table, src="a", dst="b", time="when", out=tmp_path / "s", overwrite=True, **options)


def times_of(store: Store) -> list[int]:
    return [int(t) for t in store.arrays.event_time]


@pytest.mark.parametrize(
    ("times", "options", "unit", "expected"),
    [
        (pa.array([NOON, NOON + 1]), {}, "s", [NOON, NOON + 1]),
        (pa.array([NOON], pa.uint32()), {}, "s", [NOON]),
        (pa.array([NOON * 1000, NOON * 1000 + 1]), {}, "us", [NOON * 10**6, NOON * 10**6 + 1000]),
        (pa.array([NOON * 1000, NOON * 1000 + 2000]), {}, "s", [NOON, NOON + 2]),
        (pa.array([NOON * 10**6 + 7]), {}, "us", [NOON * 10**6 + 7]),
        (pa.array([NOON * 10**9 + 7]), {}, "ns", [NOON * 10**9 + 7]),
        (pa.array([NOON * 10**9 + 7000]), {}, "us", [NOON * 10**6 + 7]),
        (pa.array([18_000]), {"time_unit": "days"}, "s", [18_000 * 86_400]),
        (pa.array([18_000.5]), {"time_unit": "days"}, "s", [18_000 * 86_400 + 43_200]),
        (pa.array([5, -3]), {"time_unit": "step"}, "step", [5, -3]),
        (pa.array(["5", "7.0"]), {"time_unit": "step"}, "step", [5, 7]),
        (pa.array([NOON + 0.25]), {}, "us", [NOON * 10**6 + 250_000]),
        (pa.array([float(NOON)]), {}, "s", [NOON]),
        (pa.array([Decimal("1600000000.123456789")]), {}, "ns", [NOON * 10**9 + 123_456_789]),
        (pa.array(["1600000000.1"]), {}, "us", [NOON * 10**6 + 100_000]),
        (pa.array(["1600000000.0"]), {}, "s", [NOON]),
        (pa.array(["1600000000.123456789"]), {}, "ns", [NOON * 10**9 + 123_456_789]),
        (pa.array(["1.6e9"]), {}, "s", [NOON]),
        (pa.array(["2020-09-13T12:26:40Z"]), {}, "s", [NOON]),
        (pa.array(["2020-09-13 12:26:40"]), {}, "s", [NOON]),
        (pa.array(["2020-09-13T14:26:40+02:00"]), {}, "s", [NOON]),
        (pa.array(["2020-09-13T07:56:40-0430"]), {}, "s", [NOON]),
        (pa.array(["20200913T122640Z"]), {}, "s", [NOON]),
        (pa.array(["2020-09-13"]), {}, "s", [NOON - 44_800]),
        (pa.array(["2020-09-13T12:26:40.5Z"]), {}, "us", [NOON * 10**6 + 500_000]),
        (pa.array(["2020-09-13T12:26:40.000000001Z"]), {}, "ns", [NOON * 10**9 + 1]),
        (pa.array(["2020-09-13T14:26:40"]), {"timezone": "Europe/Paris"}, "s", [NOON]),
        (pa.array(["2020-09-13T12:26:40Z"]), {"timezone": "Europe/Paris"}, "s", [NOON]),
        (pa.array([NOON], pa.timestamp("s")), {}, "s", [NOON]),
        (pa.array([NOON * 1000 + 5], pa.timestamp("ms")), {}, "us", [NOON * 10**6 + 5000]),
        (pa.array([NOON * 10**9 + 5], pa.timestamp("ns")), {}, "ns", [NOON * 10**9 + 5]),
        (pa.array([NOON * 10**9 + 5], pa.timestamp("ns", tz="Asia/Tokyo")), {}, "ns", [NOON * 10**9 + 5]),
        (pa.array([NOON + 7200], pa.timestamp("s")), {"timezone": "Europe/Paris"}, "s", [NOON]),
        (pa.array([NOON], pa.timestamp("s", tz="Europe/Paris")), {"timezone": "Asia/Tokyo"}, "s", [NOON]),
        (pa.array([dt.date(2020, 9, 13)]), {}, "s", [NOON - 44_800]),
    ],
)
def test_every_form_of_time_is_kept_exactly(
    tmp_path: Path, times: pa.Array, options: dict[str, Any], unit: str, expected: list[int]
) -> None:
    store = stored(tmp_path, times, **options)
    assert (store.unit, times_of(store)) == (unit, expected)
    assert store.report["time"]["rounded"] == 0


@hypothesis.given(st.lists(st.integers(0, 1_700_000_000 * 10**9), min_size=1, max_size=20))
@hypothesis.settings(max_examples=25)
def test_nanosecond_text_survives_to_the_last_digit(tmp_path: Path, nanos: list[int]) -> None:
    texts = [f"{n // 10**9}.{n % 10**9:09d}" for n in nanos]
    store = stored(tmp_path, pa.array(texts), time_unit="s")
    scale = {"s": 10**9, "us": 10**3, "ns": 1}[store.unit]
    assert [t * scale for t in times_of(store)] == nanos


def test_digits_beyond_the_nanosecond_are_rounded_and_counted(tmp_path: Path) -> None:
    store = stored(tmp_path, pa.array(["1600000000.1234567891", "1600000000.5"]))
    assert store.unit == "ns"
    assert store.report["time"]["rounded"] == 1


def test_auto_says_what_it_took_and_quotes_the_dates(tmp_path: Path) -> None:
    (note,) = stored(tmp_path, pa.array([NOON * 1000])).report["notes"]
    assert note == "time unit detected as 'ms': 2020-09-13T12:26:40Z to 2020-09-13T12:26:40Z"
    (note,) = stored(tmp_path, pa.array([1, 700])).report["notes"]
    assert note.endswith("if this is a counter and not a date, pass --time-unit step")
    assert stored(tmp_path, pa.array([NOON]), time_unit="s").report["notes"] == []


@pytest.mark.parametrize(
    ("times", "options", "message"),
    [
        (pa.array([-5]), {}, "dates must not be before 1970 (got 1969-12-31T23:59:55Z"),
        (
            pa.array([NOON * 1000]),
            {"time_unit": "s"},
            "(got the year 52671 to the year 52671). Pass --time-unit with 'ms'",
        ),
        (pa.array(["2999-01-01"]), {}, "must not be more than a day in the future (got 2999-01-01T00:00:00Z"),
        (
            pa.array([2**63 - 1, 5]),
            {"time_unit": "step"},
            "row 1, column 'when': a time must be less than 9,223,372,036,854,775,807, the largest cut (got '92233",
        ),
        (
            pa.array([2**63 - 1, 5]),
            {"time_unit": "s", "allow_any_date": True},
            "a time must be less than 9,223,372,036",
        ),
        (
            pa.array([10**15, 5], pa.timestamp("s")),
            {"allow_any_date": True},
            "timestamps must be within 290,000 years of the year 0 (got 1 that are not). Check their unit.",
        ),
        (pa.array([10**15], pa.timestamp("s", tz="UTC")), {}, "events frame 1: can't be read (Conversion Error"),
        (
            pa.array(["2400-01-01", "2020-01-01T00:00:00.000000001Z"]),
            {"allow_any_date": True, "bad_rows": "skip"},
            "all times must fit into 64 bits in 'ns', as '2020-01-01T00:00:00.000000001Z' needs (got '2400-01-01')",
        ),
        (pa.array([True]), {}, "must hold numbers, ISO 8601 text or timestamps (got type BOOLEAN)"),
    ],
)
def test_odd_times_are_refused(tmp_path: Path, times: pa.Array, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as error:
        stored(tmp_path, times, **options)
    assert message in str(error.value)


def test_the_last_step_but_one_is_seen_by_a_view(tmp_path: Path) -> None:
    assert len(stored(tmp_path, pa.array([2**63 - 2]), time_unit="step").as_of().history("x", "y00")) == 1
    store = stored(tmp_path, pa.array([2**63 - 1, 5]), time_unit="step", bad_rows="skip")
    assert (times_of(store), store.report["dropped"]) == ([5], {"last_time": 1})


def test_odd_dates_are_taken_when_told(tmp_path: Path) -> None:
    assert times_of(stored(tmp_path, pa.array([-5]), allow_any_date=True)) == [-5]
    assert times_of(stored(tmp_path, pa.array([1.5, -2.5]), allow_any_date=True)) == [1_500_000, -2_500_000]
    assert times_of(stored(tmp_path, pa.array(["1.5", "-2.5"]), allow_any_date=True)) == [1_500_000, -2_500_000]
    assert times_of(stored(tmp_path, pa.array(["1969-12-31T23:59:59.5Z"]), allow_any_date=True)) == [-500_000]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time_unit": "weeks"}, "--time-unit: must be one of auto, s,"),
        (
            {"timezone": "Mars/Olympus"},
            "--timezone: must be a time zone name such as Europe/Paris (got 'Mars/Olympus')",
        ),
    ],
)
def test_units_and_zones_that_do_not_exist(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        stored(tmp_path, pa.array([1]), **options)
    assert message in str(error.value)


def test_step_is_for_counters_only(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="must hold whole numbers for --time-unit step"):
        stored(tmp_path, pa.array([dt.date(2020, 1, 1)]), time_unit="step")
    with pytest.raises(DataError, match="a time must be a number"):
        stored(tmp_path, pa.array([1.5]), time_unit="step")


def test_dates_for_people() -> None:
    assert date_text(NOON, "s") == "2020-09-13T12:26:40Z"
    assert date_text(NOON * 10**6 + 5, "us") == "2020-09-13T12:26:40.000005Z"
    assert date_text(-1, "us") == "1969-12-31T23:59:59.999999Z"
    assert date_text(7, "step") == "7"
