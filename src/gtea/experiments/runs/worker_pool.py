"""Run jobs in parallel in a pool of worker processes.

A worker is ``python -m gtea.experiments.runs.worker``. It receives one job at a time on stdin and answers on stdout,
both as JSON lines. When its stdin closes, because the parent finished, was interrupted or was killed, it exits.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from gtea import errors
from gtea.errors import GteaError, ModelError
from gtea.experiments.runs.jobs import Job, Outcome
from gtea.training.loop import TrainingReport

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
    lines: queue.Queue[tuple[int, dict[str, Any]]] = queue.Queue()
    workers: list[_Worker] = []
    try:
        for number in range(num_workers):
            workers.append(_Worker(number, max(1, torch.get_num_threads() // num_workers), locks, lines))
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
            worker.close()


class _Worker:
    """A worker process and the thread that reads its output."""

    def __init__(
        self, number: int, threads: int, locks: Sequence[int], lines: queue.Queue[tuple[int, dict[str, Any]]]
    ) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
        self.job: Job | None = None
        # -P: don't import modules from the current folder.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "gtea.experiments.runs.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            pass_fds=tuple(locks),
            text=True,
        )
        self._listener = threading.Thread(target=self._listen, args=(number, lines), daemon=True)
        self._listener.start()

    def start(self, job: Job, out: Path) -> None:
        """Send a job to the process."""
        self.job = job
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the process has died; its last line reports that
            self._process.stdin.write(json.dumps(job_request(job, out)) + "\n")
            self._process.stdin.flush()

    def close(self) -> None:
        """Close stdin and wait for the process to exit."""
        assert self._process.stdin is not None
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
        lines.put((number, {"died": self._process.wait()}))


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
    if line["error"] is None:
        return RuntimeError(f"{job.stem}: {line['lines'][0]}")
    kind: type[GteaError] = getattr(errors, line["error"])
    return kind(*line["lines"])
