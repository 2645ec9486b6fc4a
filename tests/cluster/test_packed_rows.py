"""Rows that go different ways, through files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gtea.cluster.packed_rows import RowFile, Rows, arrow_reader, file_pieces, packed, packed_rows_of, registered
from gtea.cluster.part_files import DamagedFileError, PartFile, write_part_file
from gtea.ingestion.workbench import Workbench

ROW = np.dtype([("a", "<i4"), ("b", "<f4"), ("c", "|u1")])


def test_groups_keep_their_rows_in_order(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    given, groups = list[Rows](), rng.integers(0, 4, 1000) * 2  # every other group is empty
    with RowFile(tmp_path / "rows", ROW, 8) as file:
        for start in range(0, 1000, 300):
            block = np.arange(start, min(start + 300, 1000), dtype=np.int32)
            given.append(packed({"a": block, "b": block * 0.5, "c": block % 7}, ROW))
            file.add(given[-1], groups[block])
    write_part_file(tmp_path / "made.part", {f"rows.{group}": file.group(group) for group in range(8)}, {})
    made, rows = PartFile.open(tmp_path / "made.part"), np.concatenate(given)
    for group in range(8):
        found = [*packed_rows_of(made, f"rows.{group}", ROW), np.empty(0, ROW)]
        np.testing.assert_array_equal(np.concatenate(found), rows[groups == group])


def test_a_range_of_a_file_of_numbers(tmp_path: Path) -> None:
    numbers = np.arange(600_000, dtype=np.int64)
    numbers.tofile(tmp_path / "numbers")
    whole = file_pieces(tmp_path / "numbers", numbers.dtype)
    np.testing.assert_array_equal(np.concatenate(list(whole.pieces)), numbers)
    some = file_pieces(tmp_path / "numbers", numbers.dtype, 3, first=7, count=150_000)
    np.testing.assert_array_equal(np.concatenate(list(some.pieces)), numbers[21:450_021].reshape(-1, 3))
    assert list(file_pieces(tmp_path / "numbers", numbers.dtype, 3, count=0).pieces) == []


def test_rows_become_columns() -> None:
    rows = packed({"a": np.array([1, 2]), "b": np.array([0.5, 1.5]), "c": np.array([3, 4])}, ROW)
    assert arrow_reader([rows], ROW).read_all().to_pydict() == {"a": [1, 2], "b": [0.5, 1.5], "c": [3, 4]}


def test_damage_is_not_told_in_the_words_of_duckdb(tmp_path: Path) -> None:
    def rows() -> Iterator[Rows]:
        yield np.zeros(3, ROW)
        raise DamagedFileError(tmp_path / "x.part", "has been cut")

    with (
        Workbench(tmp_path, memory="400MB") as bench,
        pytest.raises(DamagedFileError, match="has been cut"),
        registered(bench, "rows", rows(), ROW),
    ):
        list(bench.stream("SELECT a FROM rows ORDER BY a"))
