"""Write pages in parallel processes: drawing is Python, of which a process runs one thread at a time."""

from __future__ import annotations

import queue
from collections.abc import Iterator, Sequence
from typing import Any

from gtea.errors import StoreError
from gtea.report.case_writer import CaseRequest
from gtea.report.index_row import IndexRow
from gtea.runtime.worker_process import Answers, WorkerProcess, told_error

Job = dict[str, int]
"""The arguments of ``CaseWriter.write``."""
_AHEAD = 2
"""Jobs that a worker has at a time: one to work on, one to go on with."""


def write_pages(request: CaseRequest, jobs: Sequence[Job], num_workers: int) -> Iterator[tuple[int, IndexRow]]:
    """Write the pages and yield their numbers and rows, in the order in which they are done. An error stops all."""
    answers: Answers = queue.Queue()
    waiting = list(reversed(jobs))
    workers: list[WorkerProcess] = []
    try:
        for number in range(min(num_workers, len(jobs))):
            workers.append(WorkerProcess("gtea.report.page_worker", number, answers, threads=1))
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


def _error(answer: dict[str, Any]) -> Exception:
    if "died" in answer:
        return StoreError(
            f"report: a process that writes pages ended with code {answer['died']}. If memory ran out, try --jobs 1."
        )
    return told_error(answer, "report")
