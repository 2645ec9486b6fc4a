"""Workers as real processes that meet by a file. They are forked from a server that has loaded torch once."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from gtea.errors import GteaError
from gtea.training.process_group import joined_by_file
from gtea.training.workers import Workers

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["gtea.training.shared_run", "gtea.training.process_group", "sklearn.ensemble"])
_SECONDS = 300.0


def in_workers(count: int, work: Callable[..., Any], *given: Any) -> list[Any]:
    """What ``work(workers, *given)`` gives in each of some processes.

    An exception comes as its class and text, an exit as its code, and a death as None.
    """
    with tempfile.TemporaryDirectory() as folder:
        meeting = Path(folder) / "meeting"
        started = []
        for number in range(count):
            ours, theirs = _CONTEXT.Pipe(duplex=False)
            process = _CONTEXT.Process(target=_run, args=(theirs, meeting, number, count, work, given))
            process.start()
            theirs.close()
            started.append((process, ours))
        deadline = time.monotonic() + _SECONDS
        try:
            return [_answer(ours, deadline) for _, ours in started]
        finally:
            for process, _ in started:
                process.kill()
                process.join()


def _answer(ours: Connection, deadline: float) -> Any:
    assert ours.poll(max(0.0, deadline - time.monotonic())), "a worker hangs"
    try:
        return ours.recv()
    except EOFError:
        return None


def _run(
    answers: Connection, meeting: Path, number: int, count: int, work: Callable[..., Any], given: tuple[Any, ...]
) -> None:
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        with joined_by_file(meeting, number, count, "cpu") as workers:
            answers.send(work(workers, *given))
    except GteaError as error:
        answers.send((type(error).__name__, str(error)))
    except SystemExit as stop:
        answers.send(stop.code)


def alone(work: Callable[..., Any], *given: Any) -> Any:
    """The same in this process."""
    return work(Workers(), *given)
