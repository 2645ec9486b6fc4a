"""The carrier ``array:K/N``: N jobs of a scheduler that share a folder. Job K, from 0, makes each N-th file.

Every job knows all tasks, and goes through them in the same order: it makes those of its share and waits for the files
that they read. No job talks to another. A job that was killed is started again with the same K; it finds what it had
finished. A file that turns out to be damaged is made again by whoever finds it. If a job ends with an error, it leaves
a note, and those that wait for it end, too.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gtea.cluster.schedule import Then, stage_of
from gtea.cluster.tasks import FileTask, outcome_of, raise_error
from gtea.errors import StoreError
from gtea.runtime.files import write_json
from gtea.runtime.json_files import read_json
from gtea.runtime.progress import Progress

_SECONDS_BETWEEN_LOOKS = 0.2
_MOST_ATTEMPTS = 5


class JobArray:
    """One of the jobs."""

    def __init__(self, number: int, num_jobs: int) -> None:
        self.number, self.num_workers = number, num_jobs

    def run(self, tasks: Sequence[FileTask], folder: Path, progress: Progress, then: Then | None = None) -> bool:
        """Do this job's share, and wait for what it reads. Returns whether the last task was this job's."""
        self._note(folder, self.number).unlink(missing_ok=True)
        ends_here = self._share(tasks, folder, progress)
        if then is None:
            return ends_here
        self.wait_for(tasks[-1], folder, progress)
        return self._share([*tasks, *then()], folder, progress)

    def _share(self, tasks: Sequence[FileTask], folder: Path, progress: Progress) -> bool:
        by_name = {task.name: task for task in tasks}
        for place, task in enumerate(tasks):
            if place % self.num_workers != self.number:
                continue
            for name in task.after:
                self._wait_for(name, by_name, folder, progress, place / len(tasks))
            self._make(task, by_name, folder)
            progress(stage_of(task.name), (place + 1) / len(tasks))
        return (len(tasks) - 1) % self.num_workers == self.number

    def wait_for(self, task: FileTask, folder: Path, progress: Progress) -> None:
        """Wait for a task of another job."""
        self._wait_for(task.name, {task.name: task}, folder, progress, 0.0)

    def on_each_node(self, task: FileTask, folder: Path) -> list[dict[str, Any]]:
        """The outcome of a task in this job."""
        return [outcome_of(folder, task)]

    def _make(self, task: FileTask, by_name: dict[str, FileTask], folder: Path) -> None:
        for attempt in range(_MOST_ATTEMPTS):
            outcome = outcome_of(folder, task)
            while "busy" in outcome:
                outcome = outcome_of(folder, task)
            if not outcome:
                return
            damaged = outcome.get("damaged")
            if damaged in by_name and damaged != task.name and attempt + 1 < _MOST_ATTEMPTS:
                self._make(by_name[damaged], by_name, folder)
                continue
            failed = outcome if "error" in outcome else {"error": "StoreError", "lines": outcome["lines"]}
            write_json(self._note(folder, self.number), failed)
            raise_error(task.name, failed)

    def _wait_for(self, name: str, by_name: dict[str, FileTask], folder: Path, progress: Progress, done: float) -> None:
        path = by_name[name].path(folder)
        while not path.exists():
            progress(f"waiting for {stage_of(name)}", done)
            for number in range(self.num_workers):
                if (note := self._note(folder, number)).exists():
                    raise StoreError(
                        f"job {number} of {self.num_workers}: has ended with an error ({_noted(note)}). "
                        "Start it again, and then this one."
                    )
            time.sleep(_SECONDS_BETWEEN_LOOKS)

    def _note(self, folder: Path, number: int) -> Path:
        return folder / f".failed-{number}.json"


def _noted(note: Path) -> str:
    """What a note says."""
    try:
        return " ".join(read_json(note, {"error": object, "lines": [str]})["lines"])
    except (OSError, ValueError) as error:
        return f"its note can't be read: {error}"
