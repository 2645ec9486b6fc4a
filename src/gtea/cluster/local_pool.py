"""The carrier ``local:N``: a pool of N processes of this machine.

A worker is ``python -m gtea.cluster.task_worker``: a task per line on its stdin, an outcome per line on its stdout.
When its stdin closes, because the parent has finished or was killed, it exits. A worker that died is replaced.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gtea.cluster.schedule import Then, run_in_order
from gtea.cluster.tasks import FileTask, to_json
from gtea.runtime.progress import Progress


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
            return [engine.next()[1]]

    def _threads(self) -> int:
        wanted = os.environ.get("OMP_NUM_THREADS", "")
        threads = int(wanted) if wanted.isdecimal() else len(os.sched_getaffinity(0))
        return max(1, threads // self.num_workers)


def thread_settings(threads: int) -> dict[str, str]:
    """Environment variables with which a process uses that many threads."""
    return dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), str(threads))


class _Processes:
    """The engine: worker processes, started when they are needed."""

    def __init__(self, folder: Path, num_workers: int, threads: int) -> None:
        self._folder = folder
        self._num_workers = num_workers
        self._environment = {**os.environ, **thread_settings(threads)}
        self._workers: dict[int, _Process] = {}
        self._lines: queue.Queue[tuple[int, dict[str, Any]]] = queue.Queue()
        self._started = 0

    def room(self) -> int:
        """How many tasks can be started now."""
        return self._num_workers - sum(worker.task is not None for worker in self._workers.values())

    def start(self, task: FileTask) -> None:
        """Give a task to an idle worker, or to a new one."""
        worker = next((each for each in self._workers.values() if each.task is None), None)
        if worker is None:
            self._started += 1
            worker = self._workers[self._started] = _Process(self._started, self._environment, self._lines)
        worker.start(task, self._folder)

    def next(self) -> tuple[str, dict[str, Any]]:
        """Wait for an outcome, or for the death of a worker that had a task."""
        while True:
            number, outcome = self._lines.get()
            worker = self._workers[number]
            task, worker.task = worker.task, None
            if "lost" in outcome:
                self._workers.pop(number).close()
            if task is not None:
                return task.name, outcome

    def close(self) -> None:
        """End all workers. One that is at work is killed: its task is begun anew next time."""
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()


class _Process:
    """A worker process and the thread that reads its output."""

    def __init__(
        self, number: int, environment: dict[str, str], lines: queue.Queue[tuple[int, dict[str, Any]]]
    ) -> None:
        self.task: FileTask | None = None
        # -P: don't import modules from the current folder.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "gtea.cluster.task_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        self._listener = threading.Thread(target=self._listen, args=(number, lines), daemon=True)
        self._listener.start()

    def start(self, task: FileTask, folder: Path) -> None:
        """Send a task to the process."""
        self.task = task
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the process has died, and its listener says so
            self._process.stdin.write(json.dumps({"folder": str(folder), "task": to_json(task)}) + "\n")
            self._process.stdin.flush()

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        if self.task is not None:
            self._process.kill()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._listener.join()

    def _listen(self, number: int, lines: queue.Queue[tuple[int, dict[str, Any]]]) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as responses:
            for line in responses:
                if line.endswith("\n"):  # a killed worker may leave an incomplete line
                    lines.put((number, json.loads(line)))
        lines.put((number, {"lost": f"its process ended with code {self._process.wait()}"}))
