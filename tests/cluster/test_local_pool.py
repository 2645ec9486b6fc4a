"""A pool of processes of this machine: they share the threads. That it survives kills is shown with scores."""

from __future__ import annotations

from pathlib import Path

import pytest

from gtea.cluster.local_pool import LocalPool
from gtea.cluster.tasks import FileTask, made_by
from gtea.runtime.progress import no_progress
from gtea.runtime.worker_process import thread_settings

INSPECT = "gtea.cluster.node_facts:inspect_node"


def test_all_tasks_are_run_by_processes_with_their_share_of_the_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "6")
    assert LocalPool(2)._threads() == 3
    assert LocalPool(8)._threads() == 1
    assert thread_settings(3)["OMP_NUM_THREADS"] == "3"
    tasks = [FileTask(f"node.{number}", INSPECT) for number in range(2)]
    assert LocalPool(1).run(tasks, tmp_path, no_progress, lambda: [FileTask("last", INSPECT, {}, ("node.0",))])
    assert all(made_by(tmp_path, name).facts for name in ("node.0", "node.1", "last"))
    assert LocalPool(2).on_each_node(FileTask("here", INSPECT), tmp_path) == [{}]
