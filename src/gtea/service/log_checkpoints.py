"""When the log is folded into the store, and the process that does it."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gtea.errors import StoreError
from gtea.runtime.worker_process import Answers, WorkerProcess, told_error

_RETRY_AFTER = 20.0


@dataclass(frozen=True)
class CheckpointPlan:
    """When to fold: after so many events, or when the oldest has waited so long."""

    events: int = 100_000
    seconds: float = 3_600.0
    memory: str = "2GB"


class Checkpoints:
    """Folds a log into its store, in a process of its own, one fold at a time."""

    def __init__(self, store: Path, log: Path, plan: CheckpointPlan, folded: Callable[[int], None]) -> None:
        """Start nothing yet.

        Args:
            folded: Is called in another thread with the last number that the store holds.
        """
        self._store, self._log, self._plan, self._folded = store, log, plan, folded
        self._thread: threading.Thread | None = None
        self._waiting_since: float | None = None
        self._not_before = 0.0
        self._starting, self._holds = threading.Lock(), 0
        self.done = self.failed = 0
        """How many folds have ended well, and how many not."""

    @property
    def running(self) -> bool:
        """Whether a fold is going on."""
        return self._thread is not None and self._thread.is_alive()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """While the body runs, no fold begins. One that runs already holds nothing that was accepted later."""
        with self._starting:
            self._holds += 1
        try:
            yield
        finally:
            with self._starting:
                self._holds -= 1

    def consider(self, held: int, last: int) -> None:
        """Begin a fold if it is time.

        Args:
            held: The last number that the store holds.
            last: The last number that was accepted.
        """
        now = time.monotonic()
        if last <= held:
            self._waiting_since = None
            return
        self._waiting_since = now if self._waiting_since is None else self._waiting_since
        is_due = last - held >= self._plan.events or now - self._waiting_since >= self._plan.seconds
        if is_due and not self.running and now >= self._not_before:
            with self._starting:
                if not self._holds:
                    self._thread = threading.Thread(
                        target=self._fold, args=(last,), name="gtea checkpoint", daemon=True
                    )
                    self._thread.start()

    def _fold(self, through: int) -> None:
        answers: Answers = queue.Queue()
        worker = WorkerProcess("gtea.service.log_checkpoint_worker", 0, answers, threads=1)
        worker.send({"store": str(self._store), "log": str(self._log), "through": through, "memory": self._plan.memory})
        _, answer = answers.get()
        worker.close()
        if "held" in answer:
            self.done += 1
            self._waiting_since = None
            self._folded(int(answer["held"]))
            return
        self.failed += 1
        self._not_before = time.monotonic() + _RETRY_AFTER
        error = told_error(answer, "checkpoint") if "error" in answer else RuntimeError("checkpoint: its process died")
        # An error about events may name accounts, which belong in no log.
        reason = str(error) if isinstance(error, StoreError) else type(error).__name__
        logging.getLogger("gtea").warning("the log could not be folded into the store (%s); trying again", reason)
