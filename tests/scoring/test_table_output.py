"""Scores and changes in files: all or none, and the scores last."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from gtea.errors import UsageError
from gtea.scoring.table_output import TableOutput

SCORES, CHANGES = pa.table({"account": ["=a"], "score": [0.5]}), pa.table({"account": ["=a"]})


def test_the_changes_stand_beside_the_scores(tmp_path: Path) -> None:
    output = TableOutput(tmp_path / "2024-06-01.csv", for_spreadsheets=True)
    output.write(SCORES, CHANGES)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2024-06-01.changes.csv", "2024-06-01.csv"]
    assert output.changes_name == str(tmp_path / "2024-06-01.changes.csv")
    assert "'=a" in (tmp_path / "2024-06-01.changes.csv").read_text()


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_pieces_have_the_bytes_of_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    monkeypatch.setattr("gtea.scoring.table_output._ROWS_TOGETHER", 4)
    scores = pa.table({"account": [f"={n}" for n in range(10)], "score": [n / 7 for n in range(10)]})
    scores = scores.replace_schema_metadata({b"gtea": b"{}"})
    whole, pieces = tmp_path / f"whole{suffix}", tmp_path / f"pieces{suffix}"
    TableOutput(whole).write(scores)
    for bounds in ([0, 10], [0, 1, 1, 5, 10], [0, 4, 8, 10], [0, 3, 9, 10]):
        TableOutput(pieces).write_pieces(scores.slice(a, b - a) for a, b in pairwise(bounds))
        assert pieces.read_bytes() == whole.read_bytes()


def test_if_one_fails_neither_changes(tmp_path: Path) -> None:
    output = TableOutput(tmp_path / "s.parquet")
    output.write(SCORES, CHANGES)
    before = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    with pytest.raises(TypeError):
        output.write(SCORES.append_column("more", [[1]]), "no table")
    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == before


def test_the_scores_take_their_place_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    placed = []
    replace = Path.replace

    def recorded(draft: Path, target: Path) -> Path:
        placed.append(target.name)
        return replace(draft, target)

    monkeypatch.setattr(Path, "replace", recorded)
    TableOutput(tmp_path / "s.csv").write(SCORES, CHANGES)
    assert placed == ["s.changes.csv", "s.csv"]


def test_only_tables_that_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--out s\.xlsx: must end in \.parquet or \.csv"):
        TableOutput(tmp_path / "s.xlsx")
    with pytest.raises(UsageError, match=r"--spreadsheet-safe: goes with a CSV file only"):
        TableOutput("sqlite:///a.db/scores", for_spreadsheets=True)
