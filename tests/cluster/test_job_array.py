"""A job array: each job its share, damaged files made again, and nobody waits for who has ended with an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from gtea.cluster.job_array import JobArray
from gtea.cluster.tasks import FileTask
from gtea.errors import StoreError, UsageError
from gtea.runtime.progress import no_progress

INSPECT = "gtea.cluster.node_facts:inspect_node"
TASKS = [FileTask(f"node.{number}", INSPECT) for number in range(5)]


def test_each_job_makes_its_share_and_one_of_them_ends_the_work(tmp_path: Path) -> None:
    assert not JobArray(1, 2).run(TASKS, tmp_path, no_progress)
    assert sorted(path.stem for path in tmp_path.glob("*.part")) == ["node.1", "node.3"]
    assert JobArray(0, 2).run(TASKS, tmp_path, no_progress)
    assert len(list(tmp_path.glob("*.part"))) == 5


def test_a_job_that_fails_says_so_to_those_that_wait(tmp_path: Path) -> None:
    wrong = [FileTask("a", "os:system"), FileTask("b", INSPECT, {}, ("a",))]
    with pytest.raises(UsageError, match=r"must be a function of gtea"):
        JobArray(0, 2).run(wrong, tmp_path, no_progress)
    with pytest.raises(StoreError, match=r"job 0 of 2: has ended with an error .a: must be"):
        JobArray(1, 2).run(wrong, tmp_path, no_progress)
    # Started again, it takes its note away.
    assert not JobArray(0, 2).run(TASKS[:2], tmp_path, no_progress)
    assert JobArray(1, 2).run(TASKS[:2], tmp_path, no_progress)


def test_a_note_that_can_not_be_read_ends_the_waiting_too(tmp_path: Path) -> None:
    (tmp_path / ".failed-0.json").write_text('{"lines": 5}')
    with pytest.raises(StoreError, match=r"job 0 of 2: has ended with an error .its note can't be read"):
        JobArray(1, 2).run([TASKS[0], FileTask("b", INSPECT, {}, ("node.0",))], tmp_path, no_progress)
