from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.report.conftest import SmallReport
from tests.report.made_up import busy_store, made_up_case

from gtea.report import page_worker
from gtea.report.case_writer import CaseRequest
from gtea.report.page_worker import serve


def request_for(report: SmallReport, out: Path) -> CaseRequest:
    common = made_up_case(busy_store(3)).common
    store = report.store
    return CaseRequest(
        str(report.model), str(store.path), store.digest, store.end, str(out), (0,), (0, store.end), common, None, None
    )


def test_an_account_is_answered_with_its_row(small_report: SmallReport, tmp_path: Path) -> None:
    request = request_for(small_report, tmp_path)
    assert CaseRequest.from_json(json.loads(json.dumps(request.to_json()))) == request
    answers = io.StringIO()
    job = {"node": 0, "rank": 1, "number": 1}
    serve([json.dumps(request.to_json()), json.dumps(job)], answers)
    answer = json.loads(answers.getvalue())
    assert answer["number"] == 1
    assert answer["row"]["whole"] == small_report.store.account(0)
    assert (tmp_path / "1.html").stat().st_size > 10_000


def test_an_error_is_answered_and_ends_the_work(small_report: SmallReport, tmp_path: Path) -> None:
    gone = {**request_for(small_report, tmp_path).to_json(), "model": str(tmp_path / "none")}
    answers = io.StringIO()
    serve([json.dumps(gone)], answers)
    assert json.loads(answers.getvalue())["error"] == "ModelError"


def test_a_full_disk_is_answered_too(
    monkeypatch: pytest.MonkeyPatch, small_report: SmallReport, tmp_path: Path
) -> None:
    class Full:
        def write(self, **job: Any) -> None:
            raise OSError(28, "No space left on device", "x.html")

    monkeypatch.setattr(page_worker, "open_writer", lambda request: Full())
    answers = io.StringIO()
    lines = [json.dumps(request_for(small_report, tmp_path).to_json()), json.dumps({"number": 1})]
    serve(lines, answers)
    answer = json.loads(answers.getvalue())
    assert answer["error"] == "StoreError"
    assert re.search(r"x\.html: No space left on device \(disk .* MB free; more is needed\)", answer["lines"][0])
