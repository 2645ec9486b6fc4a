from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest
from tests.report.conftest import SmallReport
from tests.report.test_page_worker import request_for

from gtea.errors import ModelError, StoreError
from gtea.report.page_workers import write_pages

JOBS = [{"node": node, "rank": node + 1, "number": node + 1} for node in range(3)]


def test_processes_write_the_same_pages(small_report: SmallReport, tmp_path: Path) -> None:
    request = dataclasses.replace(request_for(small_report, tmp_path), nodes=(0, 1, 2))
    done = dict(write_pages(request, JOBS, 2))
    assert sorted(done) == [1, 2, 3]
    assert [done[number].whole for number in (1, 2, 3)] == [small_report.store.account(node) for node in range(3)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.html", "2.html", "3.html"]


def test_an_error_in_a_process_is_raised_here(small_report: SmallReport, tmp_path: Path) -> None:
    gone = dataclasses.replace(request_for(small_report, tmp_path), model=str(tmp_path / "none"))
    with pytest.raises(ModelError, match="none"):
        list(write_pages(gone, JOBS, 1))


def test_a_process_that_dies_is_reported(
    monkeypatch: pytest.MonkeyPatch, small_report: SmallReport, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(StoreError, match=r"pages ended with code 1\. If memory ran out, try --jobs 1\."):
        list(write_pages(request_for(small_report, tmp_path), JOBS, 2))
