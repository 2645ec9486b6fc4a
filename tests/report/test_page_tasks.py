"""Pages in processes, and as tasks."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import pytest
from tests.report.conftest import SmallReport
from tests.report.made_up import busy_store, made_up_case

from gtea.errors import ModelError
from gtea.report.case_writer import CaseRequest
from gtea.report.page_tasks import page_tasks, write_in_processes
from gtea.runtime.progress import no_progress

CHOSEN = [(node, node + 1) for node in range(3)]


def request_for(report: SmallReport, out: Path) -> CaseRequest:
    common = made_up_case(busy_store(3)).common
    store = report.store
    return CaseRequest(
        str(report.model), str(store.path), store.digest, store.end, str(out), (0,), (0, store.end), common, None, None
    )


def test_processes_write_the_pages(small_report: SmallReport, tmp_path: Path) -> None:
    request = dataclasses.replace(request_for(small_report, tmp_path), nodes=(0, 1, 2))
    assert CaseRequest.from_json(json.loads(json.dumps(request.to_json()))) == request
    shares: list[float | None] = []
    rows = write_in_processes(request, CHOSEN, 2, lambda stage, done: shares.append(done))
    assert [row.whole for row in rows] == [small_report.store.account(node) for node in range(3)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.html", "2.html", "3.html"]
    assert (tmp_path / "1.html").stat().st_size > 10_000
    assert shares[-1] == 1.0


def test_an_error_in_a_process_is_raised_here(small_report: SmallReport, tmp_path: Path) -> None:
    gone = dataclasses.replace(request_for(small_report, tmp_path), model=str(tmp_path / "none"))
    with pytest.raises(ModelError, match="none"):
        write_in_processes(gone, CHOSEN, 1, no_progress)


def test_processes_that_die_again_and_again_are_reported(
    monkeypatch: pytest.MonkeyPatch, small_report: SmallReport, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(ModelError, match=r"pages\.1: was tried 5 times \(its process ended with code 1\)"):
        write_in_processes(request_for(small_report, tmp_path), CHOSEN[:1], 2, no_progress)


@pytest.mark.parametrize("count", [1, 12, 50, 200, 1000])
def test_a_handful_of_pages_is_a_task(count: int) -> None:
    tasks = page_tasks(count)
    places = [place for task in tasks for place in range(task.arguments["first"], task.arguments["last"])]
    assert places == list(range(count))
    assert len(tasks) >= min(count, 16)
    assert max(task.arguments["last"] - task.arguments["first"] for task in tasks) <= 8
