"""The carrier ``local:N``: a pool of N processes of this machine.

A worker is ``python -m gtea.cluster.task_worker``: a task per line on its stdin, an outcome per line on its stdout.
When its stdin closes, because the parent has finished or was killed, it exits. A worker that died is replaced.
"""

from __future__ import annotations

import contextlib
import os
import queue
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gtea.cluster.schedule import Then, run_in_order
from gtea.cluster.tasks import FileTask, to_json
from gtea.runtime.progress import Progress
from gtea.runtime.worker_process import Answers, WorkerProcess

_SECONDS_BETWEEN_LOOKS = 1.0


class LocalPool:
    """Runs tasks in processes of this machine."""

    def __init__(self, num_workers: int) -> None:
        self.num_workers = num_workers

    def run(self, tasks: Sequence[FileTask], folder: Path, progress: Progress, then: Then | None = None) -> bool:
        """Run all tasks. They share the threads that this process may use."""
        with contextlib.closing(_Processes(folder, self.num_workers, self._threads())) as engine:
            run_in_order(tasks, folder, engine, progress, then)
        return True

    def on_each_node(self, task: FileTask, folder: Path) -> list[dict[str, Any]]:
        """The outcome of a task in a process of this machine: there is one node."""
        with contextlib.closing(_Processes(folder, 1, self._threads())) as engine:
            engine.start(task)
            while (ended := engine.next()) is None:
                pass
            return [ended[1]]

    def _threads(self) -> int:
        wanted = os.environ.get("OMP_NUM_THREADS", "")
        threads = int(wanted) if wanted.isdecimal() else len(os.sched_getaffinity(0))
        return max(1, threads // self.num_workers)


class _Processes:
    """The engine: worker processes, started when they are needed."""

    def __init__(self, folder: Path, num_workers: int, threads: int) -> None:
        self._folder, self._num_workers, self._threads = folder, num_workers, threads
        self._workers: dict[int, WorkerProcess] = {}
        self._tasks: dict[int, FileTask] = {}
        self._answers: Answers = queue.Queue()
        self._started = 0

    def room(self) -> int:
        """How many tasks can be started now."""
        return self._num_workers - len(self._tasks)

    def start(self, task: FileTask) -> None:
        """Give a task to an idle worker, or to a new one."""
        number = next((each for each in self._workers if each not in self._tasks), None)
        if number is None:
            self._started += 1
            number = self._started
            self._workers[number] = WorkerProcess(
                "gtea.cluster.task_worker", number, self._answers, threads=self._threads
            )
        self._tasks[number] = task
        self._workers[number].send({"folder": str(self._folder), "task": to_json(task)})

    def next(self) -> tuple[str, dict[str, Any]] | None:
        """Wait for an outcome, or for the death of a worker that had a task."""
        while True:
            try:
                number, outcome = self._answers.get(timeout=_SECONDS_BETWEEN_LOOKS)
            except queue.Empty:
                return None
            if "died" in outcome:
                outcome = {"lost": f"its process ended with code {outcome['died']}"}
                self._workers.pop(number).close()
            task = self._tasks.pop(number, None)
            if task is not None:
                return task.name, outcome

    def close(self) -> None:
        """End all workers. One that is at work is killed: its task is begun anew next time."""
        for number, worker in self._workers.items():
            worker.close(kill=number in self._tasks)
        self._workers.clear()
