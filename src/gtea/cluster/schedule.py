"""Tasks in order, for engines with a driver: as many at once as the engine takes, each after those that it reads.

A task that is lost, because its process or its machine died, is run again. A damaged file is made again, and then what
found it damaged. Both a few times only: what fails again and again has a reason. A task on whose thing another process
is at work, another command for example, is tried again later, as often as it takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from gtea.cluster.tasks import FileTask, raise_error
from gtea.errors import ModelError
from gtea.runtime.progress import Progress

_MOST_ATTEMPTS = 5


class Engine(Protocol):
    """Runs tasks somewhere."""

    def room(self) -> int:
        """How many more tasks can be started now."""

    def start(self, task: FileTask) -> None:
        """Start a task."""

    def next(self) -> tuple[str, dict[str, Any]] | None:
        """Wait for a task that is no longer running: its name and outcome. ``{"lost": why}`` if nobody knows it.

        None after some seconds in which nothing ended.
        """


Then = Callable[[], Sequence[FileTask]]
"""Once some tasks are done: those that come after them, which could not be known before."""


def run_in_order(
    tasks: Sequence[FileTask], folder: Path, engine: Engine, progress: Progress, then: Then | None = None
) -> None:
    """Run all tasks. The first error ends it.

    Args:
        tasks: Each after those that it reads.
    """
    _run(tasks, folder, engine, progress, set())
    if then is not None:
        _run([*tasks, *then()], folder, engine, progress, {task.name for task in tasks})


def _run(tasks: Sequence[FileTask], folder: Path, engine: Engine, progress: Progress, finished: set[str]) -> None:
    by_name = {task.name: task for task in tasks}
    waiting = {name: task for name, task in by_name.items() if name not in finished}
    running, done = dict[str, FileTask](), set(finished)
    troubles = Counter[str]()
    while waiting or running:
        for task in list(waiting.values()):
            if engine.room() <= 0:
                break
            if done.issuperset(task.after):
                running[task.name] = waiting.pop(task.name)
                engine.start(task)
        ended = engine.next()
        if ended is None:
            progress(stage_of(next(iter(running))), len(done) / len(tasks))
            continue
        name, outcome = ended
        task = running.pop(name)
        if "error" in outcome:
            raise_error(name, outcome)
        if not outcome:
            done.add(name)
        elif "busy" in outcome:
            waiting[name] = task  # after all others: meanwhile whoever is at work there may finish it
        else:
            for each in _again(task, outcome, by_name, troubles):
                done.discard(each.name)
                if each.name not in running:
                    waiting[each.name] = each
        progress(stage_of(name), len(done) / len(tasks))


def stage_of(name: str) -> str:
    """What a task is part of: its name without the number."""
    return name.split(".")[0].replace("-", " ")


def _again(
    task: FileTask, outcome: dict[str, Any], by_name: dict[str, FileTask], troubles: Counter[str]
) -> list[FileTask]:
    """The tasks to be run because one did not come to an end."""
    damaged = outcome.get("damaged", task.name)
    troubles[damaged] += 1
    if troubles[damaged] >= _MOST_ATTEMPTS or damaged not in by_name:
        why = outcome.get("lost") or " ".join(outcome["lines"])
        raise ModelError(
            f"{damaged}: was tried {troubles[damaged]} times ({why}). What is finished is kept. If memory ran out, "
            "use more --parts or fewer workers."
        )
    return [by_name[damaged], task] if damaged != task.name else [task]
