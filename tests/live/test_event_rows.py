"""Rows are read as append reads them, and refused as append refuses them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from gtea.errors import DataError, UsageError
from gtea.ingestion.append import append
from gtea.ingestion.ingest import ingest
from gtea.live.event_rows import EventReader
from gtea.store.schema import EventColumns, Schema
from gtea.store.store import Store

COLUMNS = EventColumns("src", "dst", "time", ("amount",), ("kind",))


def reader_of(**options: Any) -> EventReader:
    return EventReader(Schema(COLUMNS, **{"time_unit": "s", **options}), allow_any_date=True)


def table(times: Any, **columns: Any) -> pa.Table:
    count = len(times)
    default = {
        "src": ["a"] * count,
        "dst": ["b"] * count,
        "time": times,
        "amount": [1.5] * count,
        "kind": ["x"] * count,
    }
    return pa.table({**default, **columns})


TIMES: list[tuple[str, Any, Any]] = [
    ("s", [10, 20], [30, 40]),
    ("s", [10, 20], pa.array([30.5, 40.0])),
    ("s", [10, 20], ["30", "40.000001"]),
    ("ms", [1_000, 2_000], [2_500, 3_000]),
    ("days", [1, 2], [3, 4]),
    ("step", [1, 2], [7, 5]),
    ("step", [1, 2], ["7", "5.0"]),
    ("s", [10, 20], pa.array([Decimal("30.25"), Decimal("31")])),
    ("auto", ["1970-01-01T00:00:10", "1970-01-01T00:01"], ["1970-01-01T00:02:03.5+01:00", "19700102"]),
    ("auto", ["1970-01-01T00:00:10"], pa.array([1_500_000_123], pa.timestamp("us"))),
    ("auto", ["1970-01-01T00:00:10"], pa.array([1_500_000_123], pa.timestamp("ns"))),
    ("auto", ["1970-01-01T00:00:10"], pa.array([1_500_000_123], pa.timestamp("ns", "UTC"))),
    ("auto", ["1970-01-01"], pa.array([dt.date(1970, 1, 3)])),
]


@pytest.mark.parametrize(("unit", "base", "more"), TIMES, ids=range(len(TIMES)))
@pytest.mark.parametrize("timezone", ["UTC", "Europe/Paris"])
def test_times_are_those_of_append(tmp_path: Path, unit: Any, base: Any, more: Any, timezone: str) -> None:
    options: dict[str, Any] = {
        "src": "src",
        "dst": "dst",
        "time": "time",
        "features": ["amount"],
        "categorical": ["kind"],
    }
    known = ingest(table(base), out=tmp_path / "s", time_unit=unit, timezone=timezone, allow_any_date=True, **options)
    reader = EventReader(Schema.from_json(known.manifest.schema), allow_any_date=True)
    rows = reader.frame(table(more), known.unit)
    store = append(tmp_path / "s", table(more), allow_any_date=True, on_duplicate="keep")
    scale = {"s": 1, "us": 10**6, "ns": 10**9, "step": 1}
    old = known.arrays.event_time * (scale[store.unit] // scale[known.unit])
    assert rows.unit == store.unit
    assert sorted([*old.tolist(), *rows.time.tolist()]) == store.arrays.event_time.tolist()


def test_ids_features_and_words_are_those_of_append(tmp_path: Path) -> None:
    columns: dict[str, Any] = {
        "src": [1, -2, 30],
        "dst": [7, 8, 9],
        "amount": [True, False, True],
        "kind": [True, None, False],
    }
    options: dict[str, Any] = {
        "src": "src",
        "dst": "dst",
        "time": "time",
        "features": ["amount"],
        "categorical": ["kind"],
    }
    store: Store = ingest(
        table([1, 2, 3], **columns), out=tmp_path / "s", time_unit="s", allow_any_date=True, **options
    )
    rows = reader_of().frame(table([1, 2, 3], **columns), "s")
    assert set(rows.src + rows.dst) == set(store.accounts.to_arrow().to_pylist())
    assert sorted(rows.words[0]) == sorted(store.vocabularies[0].to_arrow().to_pylist())
    assert sorted(rows.features[:, 0].tolist()) == sorted(store.arrays.event_features[:, 0].tolist())


def test_pandas_frames_and_categories_are_read() -> None:
    frame = table([1, 2]).to_pandas().assign(kind=lambda f: f["kind"].astype("category"))
    assert reader_of().frame(frame, "s").words == [["x", "x"]]
    assert reader_of().frame(pd.DataFrame(frame), "ns").unit == "ns"


BAD: dict[str, dict[str, Any]] = {
    "an account id must not be empty": {"src": [None]},
    "an account id must not be longer than 1024 bytes": {"dst": ["x" * 1_025]},
    "account ids must be text or whole numbers": {"dst": [1.5]},
    "a time must not be empty": {"time": [" "]},
    "a time must be a number or an ISO 8601 date": {"time": ["soon"]},
    "a feature must be a number": {"amount": ["much"]},
    "a feature must be a finite number within float32": {"amount": [1e39]},
}


@pytest.mark.parametrize("rule", BAD)
def test_bad_rows_are_refused_with_the_rules_of_append(rule: str) -> None:
    columns: dict[str, Any] = BAD[rule]
    frame = table(columns.get("time", [5]), **{name: value for name, value in columns.items() if name != "time"})
    with pytest.raises(DataError, match=rule) as caught:
        reader_of().frame(frame, "s")
    assert caught.value.lines[0].startswith("row 1, column ")
    assert "no event was taken" in str(caught.value.lines[-1])


@pytest.mark.parametrize("time", [True, "1970-13-01", "1970-01-01T00:00:61", float("nan"), float("inf"), [1], "9" * 60])
def test_what_is_no_time_is_refused(time: Any) -> None:
    with pytest.raises(DataError, match="a time must be a number or an ISO 8601 date"):
        reader_of().record({"src": "a", "dst": "b", "time": time, "amount": 1, "kind": "x"})


def test_numbers_are_no_dates_in_a_store_of_dates() -> None:
    with pytest.raises(DataError, match="a time must be a number or an ISO 8601 date"):
        reader_of(time_unit="auto").record({"src": "a", "dst": "b", "time": 5, "amount": 1})


def test_steps_must_be_whole_and_below_the_end_of_time() -> None:
    for time in (1.5, "1e-3", 2**63 - 1):
        with pytest.raises(DataError, match=r"a time must be"):
            reader_of(time_unit="step").record({"src": "a", "dst": "b", "time": time, "amount": 1})


def test_odd_dates_are_refused_unless_allowed() -> None:
    careful = EventReader(Schema(COLUMNS, time_unit="s"))
    for time in (-1, 2**40):
        with pytest.raises(DataError, match="a date must be between 1970 and tomorrow"):
            careful.record({"src": "a", "dst": "b", "time": time, "amount": 1})


def test_times_must_fit_together() -> None:
    reader = reader_of()
    rows = [reader.record({"src": "a", "dst": "b", "time": t, "amount": 1}) for t in (2**62, 0.5)]
    with pytest.raises(DataError, match="times: must fit into 64 bits in 'us'"):
        reader.rows(rows, "s")


def test_a_frame_must_have_the_columns_of_the_store() -> None:
    with pytest.raises(DataError, match="events: must have one column 'kind'"):
        reader_of().frame(table([1]).drop_columns(["kind"]), "s")
    with pytest.raises(UsageError, match="events: must be a frame"):
        reader_of().frame([("a", "b", 1)], "s")
    with pytest.raises(DataError, match="column 'amount': must be given"):
        reader_of().record({"src": "a", "dst": "b", "time": 1})


def test_a_filtered_store_can_not_be_followed() -> None:
    with pytest.raises(UsageError, match="the store must not be filtered"):
        reader_of(max_degree=3)


def test_jodie_ids_have_prefixes() -> None:
    reader = EventReader(Schema(EventColumns("user_id", "item_id", "timestamp"), format="jodie", time_unit="s"))
    row = reader.record({"user_id": 3, "item_id": 3, "timestamp": 1.0})
    assert (row.src, row.dst) == ("user:3", "item:3")
    assert np.array_equal(reader.rows([row], "s").time, [1])
