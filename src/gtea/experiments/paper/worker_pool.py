"""Runs side by side: helper processes that are handed one job at a time.

A helper is ``python -m gtea.experiments.paper.worker``. Jobs go to its standard input and what it reports comes from its
standard output, a line of JSON each. Its input is also its life line: when that ends, because the experiment was
interrupted or killed, the helper ends at once.
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
from gtea.experiments.paper.jobs import Job, Outcome
from gtea.training.loop import TrainingReport

Told = Callable[[Job, TrainingReport], None]
Ended = Callable[[Job, Outcome], None]


def run_in_workers(jobs: Sequence[Job], out: Path, count: int, lock: int, told: Told, ended: Ended) -> None:
    """Do all jobs, so many at a time, each with its share of torch's threads. The first error ends all.

    Args:
        lock: A handle that the helpers keep open, so that nobody else begins while one of them still works.
    """
    waiting, count = list(jobs), min(count, len(jobs))
    lines: queue.Queue[tuple[int, dict[str, Any]]] = queue.Queue()
    helpers: list[_Helper] = []
    try:
        for number in range(count):
            helpers.append(_Helper(number, max(1, torch.get_num_threads() // count), lock, lines))
            helpers[-1].begin(waiting.pop(0), out)
        while any(helper.job for helper in helpers):
            number, line = lines.get()
            helper = helpers[number]
            if helper.job is None:
                continue
            if "report" in line:
                told(helper.job, TrainingReport(**{**line["report"], "folder": Path(line["report"]["folder"])}))
            elif "outcome" in line:
                ended(helper.job, Outcome(**line["outcome"]))
                helper.job = None
                if waiting:
                    helper.begin(waiting.pop(0), out)
            else:
                raise error_of(helper.job, line)
    finally:
        for helper in helpers:
            helper.end()


class _Helper:
    """One process, and the thread that listens to it."""

    def __init__(self, number: int, threads: int, lock: int, lines: queue.Queue[tuple[int, dict[str, Any]]]) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
        self.job: Job | None = None
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "gtea.experiments.paper.worker"],  # not what lies about where we stand
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            pass_fds=(lock,),
            text=True,
        )
        self._listener = threading.Thread(target=self._listen, args=(number, lines), daemon=True)
        self._listener.start()

    def begin(self, job: Job, out: Path) -> None:
        """Hand over a job."""
        self.job = job
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has died: its last line says so
            self._process.stdin.write(json.dumps(question(job, out)) + "\n")
            self._process.stdin.flush()

    def end(self) -> None:
        """Cut the life line, and wait."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._listener.join()

    def _listen(self, number: int, lines: queue.Queue[tuple[int, dict[str, Any]]]) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as answers:
            for line in answers:
                if line.endswith("\n"):  # a helper that was killed may leave half a line
                    lines.put((number, json.loads(line)))
        lines.put((number, {"died": self._process.wait()}))


def question(job: Job, out: Path) -> dict[str, Any]:
    """A job as a helper is asked to do it."""
    subject = {name: str(value) if isinstance(value, Path) else value for name, value in asdict(job.subject).items()}
    return {"job": {**asdict(job), "subject": subject}, "out": str(out)}


def error_of(job: Job, line: dict[str, Any]) -> Exception:
    """What went wrong in a helper, as if it had gone wrong here."""
    if "died" in line:
        return ModelError(
            f"{job.stem}: its process ended with code {line['died']}. If memory ran out, take fewer --jobs; what was "
            "finished is kept."
        )
    if line["error"] is None:
        return RuntimeError(f"{job.stem}: {line['message']}")
    kind: type[GteaError] = getattr(errors, line["error"])
    return kind(line["message"])
