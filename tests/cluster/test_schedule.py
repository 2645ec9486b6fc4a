"""The order of tasks: after what they read, again if they are lost or what they read is damaged, and not for ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gtea.cluster.schedule import run_in_order, stage_of
from gtea.cluster.tasks import FileTask
from gtea.errors import ModelError, UsageError
from gtea.runtime.progress import no_progress

TASKS = [FileTask("a", ""), FileTask("b", ""), FileTask("c", "", {}, ("a", "b")), FileTask("d", "", {}, ("c",))]


class Told:
    """An engine with room for two, whose tasks end as they are told; newest first."""

    def __init__(self, outcomes: dict[str, list[dict[str, Any]]]) -> None:
        self.outcomes, self.running, self.started = outcomes, list[str](), list[str]()

    def room(self) -> int:
        return 2 - len(self.running)

    def start(self, task: FileTask) -> None:
        self.running.append(task.name)
        self.started.append(task.name)

    def next(self) -> tuple[str, dict[str, Any]]:
        name = self.running.pop()
        told = self.outcomes.get(name, [])
        return name, told.pop(0) if told else {}


def test_each_comes_after_those_that_it_reads_and_more_may_follow() -> None:
    engine, seen = Told({}), list[float | None]()
    more = [FileTask("e", "", {}, ("a", "d"))]
    run_in_order(TASKS, Path(), engine, lambda stage, done: seen.append(done), lambda: more)
    assert engine.started == ["a", "b", "c", "d", "e"]
    assert seen == [0.25, 0.5, 0.75, 1.0, 1.0]


def test_a_lost_task_is_run_again() -> None:
    engine = Told({"c": [{"lost": "killed"}, {"lost": "killed"}]})
    run_in_order(TASKS, Path(), engine, no_progress)
    assert engine.started == ["a", "b", "c", "c", "c", "d"]


def test_a_damaged_file_is_made_again_and_then_who_found_it() -> None:
    engine = Told({"d": [{"damaged": "a", "lines": ["cut"]}]})
    run_in_order(TASKS, Path(), engine, no_progress)
    assert engine.started[:5] == ["a", "b", "c", "d", "a"]
    assert engine.started[-1] == "d"


def test_what_fails_again_and_again_has_a_reason() -> None:
    with pytest.raises(ModelError, match=r"c: was tried 5 times \(killed\).*use more --parts"):
        run_in_order(TASKS, Path(), Told({"c": [{"lost": "killed"}] * 9}), no_progress)
    with pytest.raises(UsageError, match="wrong"):
        run_in_order(TASKS, Path(), Told({"b": [{"error": "UsageError", "lines": ["wrong"]}]}), no_progress)


def test_stages_have_names() -> None:
    assert stage_of("share-0.12") == "share 0"
