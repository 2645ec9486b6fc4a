"""Numbers for accounts: in the order of their ids, from integers and from text alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from gtea.ingestion import keys
from gtea.ingestion.array_writer import ArrayFolder
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


@pytest.mark.parametrize("text", [False, True])
def test_accounts_are_numbered_in_the_order_of_their_ids(tmp_path: Path, text: bool) -> None:
    ends = [np.array([7, 7, 20], dtype=np.int64), np.array([20, 100, 100], dtype=np.int64)]
    with Workbench(tmp_path) as bench, ArrayFolder(tmp_path / "v") as arrays:
        kind = "VARCHAR" if text else "BIGINT"
        values = ", ".join(f"({a}, {b})" for a, b in zip(*ends, strict=True))
        bench.run(f"CREATE TABLE clean AS SELECT a::{kind} AS src, b::{kind} AS dst FROM (VALUES {values}) v(a, b)")
        assert integers_are_keys(bench, kind) != text
        if text:
            create_id_keys(bench, with_node_table=False)
            places = dict(bench.rows("SELECT id, key FROM id_keys"))
            assert places == {"7": 1, "20": 2, "100": 3}
            ends = [np.array([places[str(key)] for key in end]) for end in ends]
        assert create_accounts(bench, text=text, filtered=False, with_node_table=False, ends=ends) == 3
        write_edge_ends(arrays, write_accounts(bench, arrays), ends)
        arrays.finish_open()
        assert arrays.read("edge_a").tolist() == [0, 0, 1]
        assert arrays.read("edge_b").tolist() == [1, 2, 2]
        assert bytes(arrays.read("node_id_bytes")) == b"720100"


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
    ends = EndsFile(tmp_path / "ends")
    ends.write(np.array([3, 1]))
    ends.write(np.array([2]))
    assert (ends.length, ends.mapped().tolist()) == (3, [3, 1, 2])
    assert EndsFile(tmp_path / "nothing").mapped().tolist() == []
