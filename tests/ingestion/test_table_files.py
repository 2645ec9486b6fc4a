"""Which files are meant, what they are, and how CSV is cut."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from gtea.errors import DataError, UsageError
from gtea.ingestion.table_files import (
    file_format,
    find_files,
    lines_of_records,
    read_jodie_layout,
    read_layout,
    require_columns,
)


def test_names_and_globs(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv", "a[1].csv"):
        (tmp_path / name).touch()
    assert [path.name for path in find_files([tmp_path / "*.csv"])] == ["a.csv", "a[1].csv", "b.csv"]
    assert [path.name for path in find_files([tmp_path / "a[1].csv"])] == ["a[1].csv"]
    with pytest.raises(DataError, match="no such file"):
        find_files([tmp_path / "c*.csv"])
    with pytest.raises(DataError, match="is a folder, not a file"):
        find_files([tmp_path])
    with pytest.raises(UsageError, match=r"a\.csv: is given twice"):
        find_files([tmp_path / "a.csv", tmp_path / "a.*"])


def test_formats_by_name() -> None:
    names = {"e.csv": "csv", "e.CSV.gz": "csv", "e.tab": "tsv", "e.pq": "parquet", "e.txt": "csv"}
    assert {name: file_format(Path(name), "auto") for name in names} == names
    assert file_format(Path("e.dat"), "jodie") == "jodie"
    assert file_format(Path("e.txt.gz"), "snap") == "snap"
    with pytest.raises(UsageError, match="the file format can't be detected from the name"):
        file_format(Path("e.dat"), "auto")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_one_that_makes_the_columns_appear(tmp_path: Path, delimiter: str) -> None:
    with gzip.open(tmp_path / "e.csv.gz", "wt") as stream:
        stream.write("\ufeff" + delimiter.join(["src", "dst", "when, or so"]) + "\n")
    layout = read_layout(tmp_path / "e.csv.gz", ["src", "dst"])
    assert (layout.delimiter, layout.columns[:2]) == (delimiter, ("src", "dst"))
    (tmp_path / "empty.csv").touch()
    with pytest.raises(DataError, match="must start with a header line"):
        read_layout(tmp_path / "empty.csv", ["src"])


def test_a_jodie_file_has_any_number_of_features(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("user_id,item_id,timestamp,state_label,features\n0,1,2.5,0,0.1,0.2\n")
    assert read_jodie_layout(tmp_path / "w.csv").columns[-2:] == ("f0", "f1")
    (tmp_path / "x.csv").write_text("user_id,item_id\n0,1\n")
    with pytest.raises(DataError, match="a JODIE file must have a header and rows of"):
        read_jodie_layout(tmp_path / "x.csv")


def test_records_are_found_by_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text('a,b\n1,"x\ny"\n\n2\n3,z\n')
    found = lines_of_records(path, read_layout(path, ["a"]), [0, 1], 1)
    assert (found.accepted, found.rejected) == ([2, 6], [5])


def test_a_missing_column_has_a_suggestion() -> None:
    require_columns("e.csv", ["src"], ["src", "dst"])
    with pytest.raises(UsageError, match=r"e\.csv: has no column 'scr'\. Did you mean 'src'\?"):
        require_columns("e.csv", ["scr"], ["src", "dst"])
    with pytest.raises(UsageError, match=r"Its columns are: x, y\."):
        require_columns("e.csv", ["amount"], ["x", "y"])
