"""Write pages in parallel processes: drawing is Python, of which a process runs one thread at a time."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from gtea import errors
from gtea.errors import StoreError
from gtea.report.case_writer import CaseRequest
from gtea.report.index_row import IndexRow

Job = dict[str, int]
"""The arguments of ``CaseWriter.write``."""
_AHEAD = 2
"""Jobs that a worker has at a time: one to work on, one to go on with."""


def write_pages(request: CaseRequest, jobs: Sequence[Job], num_workers: int) -> Iterator[tuple[int, IndexRow]]:
    """Write the pages and yield their numbers and rows, in the order in which they are done. An error stops all."""
    answers: queue.Queue[tuple[int, dict[str, Any]]] = queue.Queue()
    waiting = list(reversed(jobs))
    workers: list[_PageWorker] = []
    try:
        for number in range(min(num_workers, len(jobs))):
            workers.append(_PageWorker(number, answers))
            workers[-1].send(request.to_json())
        for worker in workers * _AHEAD:
            if waiting:
                worker.send(waiting.pop())
        for _ in jobs:
            number, answer = answers.get()
            if "row" not in answer:
                raise _error(answer)
            if waiting:
                workers[number].send(waiting.pop())
            yield answer["number"], IndexRow(**answer["row"])
    finally:
        for worker in workers:
            worker.close()


class _PageWorker:
    """A process and the thread that reads its answers."""

    def __init__(self, number: int, answers: queue.Queue[tuple[int, dict[str, Any]]]) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        # -P: don't import modules from the current folder.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "gtea.report.page_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        self._listener = threading.Thread(target=self._listen, args=(number, answers), daemon=True)
        self._listener.start()

    def send(self, content: dict[str, Any]) -> None:
        """Send a line."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the process has died; its last answer reports that
            self._process.stdin.write(json.dumps(content) + "\n")
            self._process.stdin.flush()

    def close(self) -> None:
        """End the process once it has done what it has."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._listener.join()

    def _listen(self, number: int, answers: queue.Queue[tuple[int, dict[str, Any]]]) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                if line.endswith("\n"):  # a killed process may leave an incomplete line
                    answers.put((number, json.loads(line)))
        answers.put((number, {"died": self._process.wait()}))


def _error(answer: dict[str, Any]) -> Exception:
    if "died" in answer:
        return StoreError(
            f"report: a process that writes pages ended with code {answer['died']}. If memory ran out, try --jobs 1."
        )
    kind: type[errors.GteaError] = getattr(errors, answer["error"])
    return kind(*answer["lines"])
