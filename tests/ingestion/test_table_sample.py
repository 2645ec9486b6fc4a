"""The first rows of a table, and what its columns look like."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gtea.errors import DataError, GteaError
from gtea.ingestion.table_sample import ColumnSample, Kind, sample_columns


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-2", " 3 "], "integer"),
        (["1", "2.5", "1e-3", ".5"], "number"),
        (["2024-01-31", "2024/1/1 10:00", "2024-01-31T10:00:00Z"], "time"),
        (["2024-01-31", "yesterday"], "text"),
        (["10:35:19"], "text"),
        (["12345678901234567890"], "number"),
        ([None, None], "empty"),
        ([], "empty"),
        ([None, "7"], "integer"),
    ],
)
def test_what_all_values_look_like(values: list[str | None], kind: Kind) -> None:
    assert ColumnSample("c", values).kind == kind


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv"])
def test_text_files(tmp_path: Path, name: str) -> None:
    delimiter = "\t" if name.endswith("tsv") else ";"
    text = "a;b\n1;x\n\n2;\n3;y;z\n".replace(";", delimiter).encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    first, second = sample_columns(tmp_path / name)
    # A row with too many fields is left out: ingest will name it.
    assert (first.name, list(first.values)) == ("a", ["1", "2"])
    assert (second.name, list(second.values), second.num_distinct) == ("b", ["x", None], 1)


def test_parquet(tmp_path: Path) -> None:
    table = pa.table({"when": pa.array([0, 86_400], pa.timestamp("s")), "amount": [1.5, None]})
    pq.write_table(table, tmp_path / "t.parquet")
    when, amount = sample_columns(tmp_path / "t.parquet")
    assert when.kind == "time"
    assert (amount.kind, list(amount.values)) == ("number", ["1.5", None])


def test_only_the_first_rows_are_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\n" + "".join(f"{i}\n" for i in range(5_000)))
    (column,) = sample_columns(tmp_path / "t.csv")
    assert len(column.values) == 2_000


def test_files_that_can_t_be_read(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1 rubbish")
    with pytest.raises(DataError, match=r"t\.parquet: can't be read as Parquet .* Check that the file is complete"):
        sample_columns(tmp_path / "t.parquet")
    (tmp_path / "t.csv.gz").write_bytes(b"not gzip")
    with pytest.raises(GteaError, match=r"t\.csv\.gz: can't be read as CSV"):
        sample_columns(tmp_path / "t.csv.gz")
