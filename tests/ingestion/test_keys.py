"""Numbers for accounts: in the order of their ids, from integers and from text alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gtea.ingestion.array_writer import ArrayFolder
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
        keys = write_accounts(bench, arrays)
        write_edge_ends(arrays, keys, ends)
        arrays.finish_open()
        assert arrays.read("edge_a").tolist() == [0, 0, 1]
        assert arrays.read("edge_b").tolist() == [1, 2, 2]
        assert bytes(arrays.read("node_id_bytes")) == b"720100"


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
