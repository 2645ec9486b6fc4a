"""Numbers for accounts: in the order of their ids, from integers and from text alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest

from gtea.errors import DataError
from gtea.ingestion import keys
from gtea.ingestion.array_writer import ArrayFolder, NumbersFile
from gtea.ingestion.ingest import ingest
from gtea.ingestion.keys import (
    EndsFile,
    create_accounts,
    create_id_keys,
    integers_are_keys,
    write_accounts,
    write_edge_ends,
)
from gtea.ingestion.workbench import Workbench


def ends_file(path: Path, *ends: int) -> EndsFile:
    file = EndsFile(path)
    for end in ends:
        file.write(np.array([end]))
    return file.finish()


def numbers(file: NumbersFile) -> list[int]:
    return [int(number) for part in file.parts() for number in part]


@pytest.mark.parametrize("text", [False, True])
def test_accounts_are_numbered_in_the_order_of_their_ids(tmp_path: Path, text: bool) -> None:
    ends = [[7, 7, 20], [20, 100, 100]]
    with Workbench(tmp_path) as bench, ArrayFolder(tmp_path / "v") as arrays:
        kind = "VARCHAR" if text else "BIGINT"
        values = ", ".join(f"({a}, {b})" for a, b in zip(*ends, strict=True))
        bench.run(f"CREATE TABLE clean AS SELECT a::{kind} AS src, b::{kind} AS dst FROM (VALUES {values}) v(a, b)")
        assert integers_are_keys(bench, kind) != text
        if text:
            create_id_keys(bench, with_node_table=False)
            places = dict(bench.rows("SELECT id, key FROM id_keys"))
            assert places == {"7": 0, "20": 1, "100": 2}
            ends = [[places[str(key)] for key in end] for end in ends]
        low, high = ends_file(tmp_path / "low", *ends[0]), ends_file(tmp_path / "high", *ends[1])
        assert create_accounts(bench, text=text, filtered=False, with_node_table=False, ends=(low, high)) == 3
        write_accounts(bench, arrays)
        write_edge_ends(bench, arrays, (low, high))
        arrays.finish_open()
        assert numbers(arrays.file("edge_a")) == [0, 0, 1]
        assert numbers(arrays.file("edge_b")) == [1, 2, 2]
        assert bytes(numbers(arrays.file("node_id_bytes"))) == b"720100"


@pytest.mark.parametrize(
    ("keys_of_accounts", "share"), [([5, 6, 7], 0.1), ([-3, 6, 70], 0.1), ([-3, 6, 70], 0), ([-(2**62), 0, 2**62], 0.1)]
)
def test_ends_become_positions_whatever_the_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys_of_accounts: list[int], share: float
) -> None:
    """Keys without gaps, in a small range, in a range that is too large for a table, and in one of almost 64 bits."""
    monkeypatch.setattr(keys, "_TABLE_SHARE", share)
    first, second, third = keys_of_accounts
    ends = (ends_file(tmp_path / "low", first, first, second), ends_file(tmp_path / "high", third, second, third))
    with Workbench(tmp_path) as bench, ArrayFolder(tmp_path / "v") as arrays:
        bench.run("CREATE TABLE clean (src BIGINT, dst BIGINT)")
        assert create_accounts(bench, text=False, filtered=False, with_node_table=False, ends=ends) == 3
        write_edge_ends(bench, arrays, ends)
        arrays.finish_open()
        assert numbers(arrays.file("edge_a")) == [0, 0, 1]
        assert numbers(arrays.file("edge_b")) == [2, 1, 2]


@pytest.mark.parametrize("self_loops", ["drop", "keep"])
def test_ids_that_fill_the_memory_are_joined_one_end_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, helpers: Any, self_loops: Literal["drop", "keep"]
) -> None:
    table = helpers.rows_table([("b", "a", 1, 1.0), ("a", "a", 2, 2.0), ("c", "b", 3, 3.0), ("b", "a", 1, 4.0)])
    options: dict[str, Any] = {"src": "src", "dst": "dst", "time": "time", "time_unit": "step", "features": ["amount"]}
    at_once = ingest(table, out=tmp_path / "s", self_loops=self_loops, **options)
    monkeypatch.setattr(keys, "_LARGEST_SHARE", 0)
    by_end = ingest(table, out=tmp_path / "t", self_loops=self_loops, **options)
    assert helpers.array_bytes(by_end) == helpers.array_bytes(at_once)
    assert by_end.report == at_once.report


def test_negative_integers_are_text(tmp_path: Path) -> None:
    with Workbench(tmp_path) as bench:
        bench.run("CREATE TABLE clean AS SELECT 5::BIGINT AS src, -1::BIGINT AS dst")
        assert not integers_are_keys(bench, "BIGINT")


def test_ends_go_through_a_file(tmp_path: Path) -> None:
    ends = ends_file(tmp_path / "ends", 3, 1, 2)
    assert (ends.length, numbers(ends.file)) == (3, [3, 1, 2])
    assert numbers(ends_file(tmp_path / "nothing").file) == []


@pytest.mark.parametrize("text", [False, True])
def test_more_accounts_than_a_store_holds_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bool
) -> None:
    monkeypatch.setattr(keys, "MAX_NODES", 3)
    ids = ["a", "b", "c", "d"] if text else [1, 2, 3, 4]
    events = pa.table({"src": ids[:2], "dst": ids[2:], "time": [1, 2]})
    with pytest.raises(DataError, match="a store holds at most 3 "):
        ingest(events, out=tmp_path / "s", src="src", dst="dst", time="time", time_unit="s")
