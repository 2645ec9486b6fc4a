"""Run jobs in parallel in a pool of worker processes.

A worker is ``python -m gtea.experiments.runs.worker``. It receives one job at a time on stdin and answers on stdout,
both as JSON lines. When its stdin closes, because the parent finished, was interrupted or was killed, it exits.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from gtea.errors import ModelError
from gtea.experiments.runs.jobs import Job, Outcome
from gtea.runtime.worker_process import Answers, WorkerProcess, told_error
from gtea.training.loop import TrainingReport

_WORKER = "gtea.experiments.runs.worker"
OnReport = Callable[[Job, TrainingReport], None]
OnOutcome = Callable[[Job, Outcome], None]


def run_in_workers(
    jobs: Sequence[Job],
    out: Path,
    num_workers: int,
    locks: Sequence[int],
    on_report: OnReport,
    on_outcome: OnOutcome,
) -> None:
    """Run all jobs in parallel. The workers share torch's threads. The first error stops all of them.

    Args:
        locks: File descriptors of locks. Workers inherit them, so that the locks are held while any of them runs.
    """
    waiting, num_workers = list(jobs), min(num_workers, len(jobs))
    threads = max(1, torch.get_num_threads() // max(1, num_workers))
    lines: Answers = queue.Queue()
    workers: list[_Worker] = []
    try:
        for number in range(num_workers):
            workers.append(_Worker(WorkerProcess(_WORKER, number, lines, threads=threads, locks=locks)))
            workers[-1].start(waiting.pop(0), out)
        while any(worker.job for worker in workers):
            number, line = lines.get()
            worker = workers[number]
            if worker.job is None:
                continue
            if "report" in line:
                on_report(worker.job, TrainingReport(**{**line["report"], "folder": Path(line["report"]["folder"])}))
            elif "outcome" in line:
                on_outcome(worker.job, Outcome(**line["outcome"]))
                worker.job = None
                if waiting:
                    worker.start(waiting.pop(0), out)
            else:
                raise worker_error(worker.job, line)
    finally:
        for worker in workers:
            worker.process.close()


class _Worker:
    """A worker process and what it works on."""

    def __init__(self, process: WorkerProcess) -> None:
        self.process = process
        self.job: Job | None = None

    def start(self, job: Job, out: Path) -> None:
        """Send a job to the process."""
        self.job = job
        self.process.send(job_request(job, out))


def job_request(job: Job, out: Path) -> dict[str, Any]:
    """The JSON request for a job."""
    subject = {name: str(value) if isinstance(value, Path) else value for name, value in asdict(job.subject).items()}
    return {"job": {**asdict(job), "subject": subject}, "out": str(out)}


def worker_error(job: Job, line: dict[str, Any]) -> Exception:
    """Turn a worker's error message into the exception to raise in the parent."""
    if "died" in line:
        return ModelError(
            f"{job.stem}: its process ended with code {line['died']}. If memory ran out, use fewer --jobs. "
            "Finished runs are kept."
        )
    return told_error(line, job.stem)
