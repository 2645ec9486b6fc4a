"""Events out and in again."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gtea.errors import UsageError
from gtea.ingestion.ingest import ingest
from gtea.runtime.progress import no_progress
from gtea.store.export import export_events
from gtea.store.store import Store
from gtea.store.verify import verify

Make = Callable[..., Store]


@pytest.mark.parametrize("format", ["parquet", "csv"])
@pytest.mark.parametrize("times", [[1_600_000_000, 1_600_000_000, 1_500_000_000], [1.25, 7.5, 3.125]])
def test_what_is_exported_can_be_ingested_again(
    tmp_path: Path, helpers: Any, format: Literal["parquet", "csv"], times: list[float]
) -> None:
    table = pa.table({
        "from": ["00", "0", 'a"b\n,'], "to": ["0", "00", "00"], "when": times,
        "value": pa.array([1.5, 0.1, -3e30]), "kind": ["x", "", "é"],
    })  # fmt: skip
    options: dict[str, Any] = {
        "src": "from",
        "dst": "to",
        "time": "when",
        "features": ["value"],
        "categorical": ["kind"],
    }
    store = ingest(table, out=tmp_path / "s", time_unit="s", **options)
    out = tmp_path / f"out.{format}"
    assert export_events(store.as_of(), out, format) == 3
    again = ingest(out, out=tmp_path / "t", **options)
    assert helpers.array_bytes(again) == helpers.array_bytes(store)


def test_exports_are_in_time_order_and_respect_the_cut(store_of: Make, tmp_path: Path) -> None:
    rows = [("a", "b", 5, 1.0), ("c", "a", 1, 2.0), ("b", "a", 3, 3.0), ("a", "b", 3, 4.0)]
    export_events(store_of(rows).as_of(5), tmp_path / "e.parquet", "parquet")
    assert pq.read_table(tmp_path / "e.parquet").to_pydict() == {
        "src": ["c", "b", "a"], "dst": ["a", "a", "b"], "time": [1, 3, 3], "amount": [2.0, 3.0, 4.0],
    }  # fmt: skip


def test_a_file_for_spreadsheets_has_no_formulas(gtea: Callable[..., Any], tmp_path: Path) -> None:
    columns = {"=src": ["=1+1", "-5"], "dst": ["@a", "b"], "time": [0, 86400], "-x": [-1.5, 2.0]}
    options: dict[str, Any] = {"src": "=src", "dst": "dst", "time": "time", "features": ["-x"], "time_unit": "s"}
    store = ingest(pa.table(columns), out=tmp_path / "s", allow_any_date=True, **options)
    out = tmp_path / "e.csv"
    assert gtea("export", store.path, "--format", "csv", "--spreadsheet-safe", "--out", out).code == 0
    assert list(csv.reader(out.read_text().splitlines())) == [
        ["'=src", "dst", "time", "'-x"],
        ["'=1+1", "'@a", "1970-01-01T00:00:00Z", "-1.5"],
        ["-5", "b", "1970-01-02T00:00:00Z", "2"],
    ]
    outcome = gtea("export", store.path, "--spreadsheet-safe", "--out", out)
    assert outcome.err == "gtea: --spreadsheet-safe: goes with --format csv only. Leave it out.\n"


@pytest.mark.parametrize(
    ("time", "format", "message"),
    [
        (253_402_300_799, "csv", ""),
        (253_402_300_800, "csv", r"must be from 0001-01-01T00:00:00Z to 9999-12-31T23:59:59Z \(got the year 10000\)"),
        (-62_135_596_801, "csv", r"got the year 0\)"),
        (2**63 - 2, "csv", r"got the year 292277026596\)"),
        (9 * 10**12, "parquet", ""),
        (-9 * 10**12, "parquet", ""),
        (9 * 10**12 + 1, "parquet", r"got the year 287168\)"),
        (-(2**63), "parquet", r"got the year -292277022657\)"),
    ],
)
def test_times_that_a_format_can_not_say_are_refused(
    helpers: Any, tmp_path: Path, time: int, format: Literal["parquet", "csv"], message: str
) -> None:
    table = helpers.rows_table([("a", "b", 5, 1.0), ("a", "b", time, 1.0)])
    options: dict[str, Any] = {"src": "src", "dst": "dst", "time": "time", "allow_any_date": True}
    store = ingest(table, out=tmp_path / "s", time_unit="s", **options)
    assert verify(store.path, no_progress) == []
    out = tmp_path / f"e.{format}"
    if message:
        with pytest.raises(UsageError, match=message):
            export_events(store.as_of(), out, format)
        assert not out.exists()
    else:
        export_events(store.as_of(), out, format)
        again = ingest(out, out=tmp_path / "t", **options)
        assert helpers.array_bytes(again) == helpers.array_bytes(store)


def test_a_folder_is_no_file(store_of: Make, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        export_events(store_of([("a", "b", 5, 1.0)]).as_of(), tmp_path, "csv")
