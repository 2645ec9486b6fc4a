from __future__ import annotations

from pathlib import Path

from gtea.report.case_writer import write_text


def test_text_that_no_file_can_hold_is_replaced(tmp_path: Path) -> None:
    write_text(tmp_path / "page.html", "a\ud800b")
    assert (tmp_path / "page.html").read_text() == "a?b"
