"""Small tables as text: every kind of file and frame, values as written, and what is refused."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gtea.errors import DataError, UsageError
from gtea.tasks.tables import read_table

IDS = ["00123", "1e5", "true", "NA", " x ", 'say "hi"', "a,b", "ü"]
NUMBERS = [str(i) for i in range(len(IDS))]


def csv_text(delimiter: str = ",") -> str:
    rows = ['"' + name.replace('"', '""') + '"' + delimiter + number for name, number in zip(IDS, NUMBERS, strict=True)]
    return f"account{delimiter}label\n" + "\n\n".join(rows) + "\n"


def write_csv(folder: Path) -> object:
    path = folder / "t.csv"
    path.write_bytes(b"\xef\xbb\xbf" + csv_text().replace("\n", "\r\n").encode())
    return path


def write_semicolons(folder: Path) -> object:
    path = folder / "t.txt"
    path.write_text(csv_text(";"))
    return str(path)


def write_tsv_gz(folder: Path) -> object:
    path = folder / "t.tsv.gz"
    path.write_bytes(gzip.compress(csv_text("\t").encode()))
    return path


def write_parquet(folder: Path) -> object:
    path = folder / "year=2024" / "t.parquet"
    path.parent.mkdir()
    packed = pa.array(IDS).dictionary_encode()
    pq.write_table(pa.table({"account": packed, "label": pa.array(range(len(IDS)))}), path)
    return path


def make_pandas(folder: Path) -> object:
    frame = pd.DataFrame({"account": ["gone", *IDS], "label": ["x", *NUMBERS]})
    return frame[frame.label != "x"]


def make_polars(folder: Path) -> object:
    return pl.DataFrame({"account": IDS, "label": NUMBERS})


@pytest.mark.parametrize(
    "make",
    [write_csv, write_semicolons, write_tsv_gz, write_parquet, make_pandas, make_polars],
    ids=lambda f: f.__name__,
)
def test_values_come_as_they_are_written(make: Callable[[Path], object], tmp_path: Path) -> None:
    table = read_table(make(tmp_path), ["account", "label"], "labels")
    assert table.columns == ("account", "label")
    assert table.ids("account").to_pylist() == IDS
    assert table.texts("label").to_pylist() == NUMBERS


def test_whole_numbers_are_ids_by_their_decimal_form_and_floats_are_none() -> None:
    big = pa.array([2**63, 7], pa.uint64())
    table = read_table(pa.table({"big": big, "float": [1.0, 2.0], "list": [[1], [2]]}), [], "accounts")
    assert table.ids("big").to_pylist() == ["9223372036854775808", "7"]
    with pytest.raises(DataError, match=r"accounts frame, column 'float': account ids must be text or whole numbers"):
        table.ids("float")
    with pytest.raises(DataError, match=r"column 'list': must be text or numbers \(got type list"):
        table.texts("list")


def test_missing_values_are_named_by_the_line_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('account,label\n"a\nb",1\n\nc,\nd,2\ne,  \n')
    with pytest.raises(DataError) as error:
        read_table(path, ["account"], "labels").texts("label")
    assert str(error.value) == (
        "t.csv, row 5, column 'label': must not be empty (got nothing)\n"
        "t.csv, row 7, column 'label': must not be empty (got nothing). Fill it in, or drop the row."
    )


def test_many_missing_values_are_counted() -> None:
    table = read_table(pa.table({"label": ["a", *[None] * 14]}), [], "labels")
    with pytest.raises(DataError, match=r"labels frame, row 2, column 'label'.*\n[^$]*row 11.*\n\.\.\. and 4 more"):
        table.texts("label")
    numbers = read_table(pa.table({"label": [1.0, np.nan]}), [], "labels")
    with pytest.raises(DataError, match="row 2, column 'label'"):
        numbers.texts("label")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"account,label\na,1\nb,2,3\n", r"row 3: must be well-formed UTF-8 with as many columns .*, 2 "),
        (b"account,label\na,1\n\xff,2\n", r"row 3: must be well-formed UTF-8 with as many columns .*, 2 "),
        (b'account,label\n"a,1\nb,2\n', "row 2: a quote is opened and never closed"),
    ],
)
def test_a_broken_line_is_named(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"t\.csv, {message}"):
        read_table(path, ["account"], "labels")


@pytest.mark.parametrize("content", [b"account,label", b"account,label\n"])
def test_a_header_alone_is_an_empty_table(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    assert len(read_table(path, ["account"], "labels")) == 0


def test_files_that_can_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(np.random.default_rng(0).bytes(5000).hex().encode())[:2000])
    with pytest.raises(DataError, match=r"t\.csv\.gz: can't be read"):
        read_table(path, [], "labels")
    (tmp_path / "t.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(DataError, match=r"t\.parquet: can't be read as Parquet"):
        read_table(tmp_path / "t.parquet", [], "labels")
    with pytest.raises(DataError, match="no such file"):
        read_table(tmp_path / "none.csv", [], "labels")
    (tmp_path / "u.parquet").write_bytes(b"")
    with pytest.raises(UsageError, match=r"must be one file \(got 2\)"):
        read_table(tmp_path / "*.parquet", [], "labels")
    no_text = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 2], "<i4")), pa.py_buffer(b"a\xb3")]
    )
    pq.write_table(pa.table({"account": no_text}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"t\.parquet: can't be read as Parquet .*UTF8"):
        read_table(tmp_path / "t.parquet", [], "labels")


def test_requests_that_can_not_be(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="int: is neither a path nor a frame"):
        read_table(3, [], "labels")
    with pytest.raises(DataError, match=r"labels frame: must have at least one column"):
        read_table(pa.table({}), [], "labels")
    path = tmp_path / "t.csv"
    path.write_text("account,label,label\na,1,2\n")
    table = read_table(path, [], "labels")
    with pytest.raises(UsageError, match="has more than one column 'label'"):
        table.texts("label")
    with pytest.raises(UsageError, match=r"has no column 'acount'\. Did you mean 'account'"):
        table.ids("acount")
