from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from tests.report.conftest import SmallReport
from tests.report.test_page_tasks import request_for

from gtea.errors import StoreError
from gtea.report.case_writer import open_writer, write_text


def test_text_that_no_file_can_hold_is_replaced(tmp_path: Path) -> None:
    write_text(tmp_path / "page.html", "a\ud800b")
    assert (tmp_path / "page.html").read_text() == "a?b"


def test_a_store_that_changes_under_way_is_refused(small_report: SmallReport, tmp_path: Path) -> None:
    request = dataclasses.replace(request_for(small_report, tmp_path), store_digest="another")
    with pytest.raises(StoreError, match=r"was changed while the report was written\. Run the report again\."):
        open_writer(request)
