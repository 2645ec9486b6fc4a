"""Tasks: made once, never of another package, and errors are told in JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from gtea.cluster.tasks import FileTask, from_json, made_by, outcome_of, raise_error, run_task, to_json
from gtea.errors import StoreError

INSPECT = "gtea.cluster.node_facts:inspect_node"


def test_a_task_survives_being_text() -> None:
    task = FileTask("encode.3", INSPECT, {"part": 3, "names": ["a"]}, ("plan", "reach.1"))
    assert from_json(to_json(task)) == task


def test_what_is_there_and_whole_is_not_made_again(tmp_path: Path) -> None:
    task = FileTask("node", INSPECT)
    run_task(tmp_path, task)
    before = task.path(tmp_path).stat().st_mtime_ns
    run_task(tmp_path, task)
    assert task.path(tmp_path).stat().st_mtime_ns == before
    task.path(tmp_path).write_bytes(b"rubbish")
    run_task(tmp_path, task)
    assert made_by(tmp_path, "node").facts["folder"] is True
    assert made_by(tmp_path, "node").facts["cost"]["peak_bytes_of_process"] > 0


def test_no_function_of_others_is_run(tmp_path: Path) -> None:
    outcome = outcome_of(tmp_path, FileTask("x", "os:system", {"command": "true"}))
    assert outcome["error"] == "UsageError"
    assert "x: must be a function of gtea" in outcome["lines"][0]


def test_errors_are_told_and_raised_elsewhere(tmp_path: Path) -> None:
    damaged = outcome_of(tmp_path, FileTask("plan", "gtea.cluster.scoring.encode:weigh", {"hub": 0}))
    assert damaged["error"] == "StoreError"
    with pytest.raises(StoreError, match="has no job any more"):
        raise_error("plan", damaged)
    bug = outcome_of(tmp_path, FileTask("x", "gtea.cluster.tasks:no_such_function"))
    assert bug["error"] is None
    with pytest.raises(RuntimeError, match="x: AttributeError"):
        raise_error("x", bug)
