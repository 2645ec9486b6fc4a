from __future__ import annotations

import csv
from pathlib import Path

from tests.report.hostile_ids import HOSTILE
from tests.report.made_up import busy_store, made_up_case

from gtea.report.case import Case
from gtea.report.exports import FILES, ExportOptions, write_exports


def test_every_file_is_written(busy_case: Case, tmp_path: Path) -> None:
    write_exports(busy_case, tmp_path / "files", ExportOptions())
    assert sorted(path.name for path in (tmp_path / "files").iterdir()) == sorted(FILES)
    assert "FILES" not in (tmp_path / "files/draft.txt").read_text()


def test_a_limit_is_told_in_the_draft(busy_case: Case, tmp_path: Path) -> None:
    write_exports(busy_case, tmp_path, ExportOptions(csv_limit=1_000))
    assert (tmp_path / "transactions.csv").stat().st_size <= 1_000
    assert "transactions.csv has the newest" in (tmp_path / "draft.txt").read_text()


def test_tables_are_safe_unless_programs_want_them_exact(tmp_path: Path) -> None:
    case = made_up_case(busy_store(names=HOSTILE))
    for exact in (False, True):
        write_exports(case, tmp_path, ExportOptions(for_spreadsheets=not exact))
        with (tmp_path / "ego.csv").open(newline="") as stream:
            cells = [row[0] for row in csv.reader(line.replace("\x00", "") for line in stream)]
        assert any(cell.startswith("=") for cell in cells) == exact
