"""Processes that work for this one: requests go to their stdin and answers come from their stdout, as JSON lines.

A worker ends when its stdin closes: because the parent has no more work, was interrupted, or is gone. What goes wrong
in a worker is told in a line, and raised in the parent as if it had gone wrong there.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from gtea import errors
from gtea.errors import GteaError
from gtea.runtime.disk_errors import system_error

Answers = queue.Queue[tuple[int, dict[str, Any]]]
"""The number of a worker, and a line that it wrote; ``{"died": exit code}`` is the last one."""


def thread_settings(threads: int) -> dict[str, str]:
    """Environment variables with which a process uses that many threads."""
    return dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), str(threads))


class WorkerProcess:
    """A process and the thread that reads its answers."""

    def __init__(self, module: str, number: int, answers: Answers, *, threads: int, locks: Sequence[int] = ()) -> None:
        """Start a process.

        Args:
            module: What it runs, as ``python -m module``.
            threads: How many threads of torch it has.
            locks: File descriptors of locks. The process inherits them, so that they are held while it runs.
        """
        # -P: don't import modules from the current folder.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **thread_settings(threads)},
            pass_fds=tuple(locks),
            text=True,
        )
        self._listener = threading.Thread(target=self._listen, args=(number, answers), daemon=True)
        self._listener.start()

    def send(self, request: Mapping[str, Any]) -> None:
        """Send a line."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the process has died; its last answer reports that
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()

    def close(self, *, kill: bool = False) -> None:
        """Close stdin, or kill the process, and wait for it to end."""
        assert self._process.stdin is not None
        if kill:
            self._process.kill()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()
        self._listener.join()

    def _listen(self, number: int, answers: Answers) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                if line.endswith("\n"):  # a killed process may leave an incomplete line
                    answers.put((number, json.loads(line)))
        answers.put((number, {"died": self._process.wait()}))


def answer_stream() -> TextIO:
    """In a worker: the stream for answers. What libraries print goes to stderr, and Ctrl-C is left to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def send_answer(answers: TextIO, answer: Mapping[str, Any]) -> None:
    """In a worker: write an answer. If the parent is gone, nobody needs one, and the process ends."""
    try:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    except BrokenPipeError:
        os._exit(1)


def error_answer(error: Exception) -> dict[str, Any]:
    """In a worker: the answer that tells an error."""
    told = error if isinstance(error, GteaError) else system_error(error)
    if told is None:  # a bug: the parent raises it as its own
        return {"error": None, "lines": [f"{type(error).__name__}: {error} (use --jobs 1 for a traceback)"]}
    # The nearest base class that is defined in gtea.errors.
    kind = next(base.__name__ for base in type(told).__mro__ if base.__module__ == errors.__name__)
    return {"error": kind, "lines": list(told.lines)}


def told_error(answer: Mapping[str, Any], subject: str) -> Exception:
    """In the parent: the exception of such an answer. ``subject`` names what the worker was doing."""
    if answer["error"] is None:
        return RuntimeError(f"{subject}: {answer['lines'][0]}")
    kind: type[GteaError] = getattr(errors, answer["error"])
    return kind(*answer["lines"])
