"""One run by several processes of this machine. If one of them dies, all begin again at the last checkpoint."""

from __future__ import annotations

import queue
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gtea.cluster.tasks import raise_error
from gtea.errors import ModelError
from gtea.models.model_folder import load_model
from gtea.runtime.worker_process import Answers, WorkerProcess
from gtea.training.loop import TrainingListener, TrainingReport
from gtea.training.request import LinkRequest, NodeRequest, folder_of, result_of
from gtea.training.request_record import RequestRecord
from gtea.training.results import TrainingResult
from gtea.training.workers import require_shareable

_MODULE = "gtea.training.train_worker"
_MOST_FRUITLESS = 3
"""How often in a row workers may die without having got further than before."""
_SECONDS_TO_FOLLOW = 10.0
"""How long the others may take to notice that one of them has died. Then they are killed, too."""


def train_in_workers(
    count: int,
    request: NodeRequest | LinkRequest,
    record: RequestRecord,
    out: str | None,
    resume: str | None,
    listener: TrainingListener,
    note: Callable[[str], None],
) -> TrainingResult:
    """Train one model in some processes of this machine, to the bytes of one process.

    Args:
        count: How many workers there are. Each computes with one thread.
        request: What to train.
        record: The same, for those who work.
        out: The folder to create, or to go on in.
        resume: The run to resume, instead of ``out``.
        listener: Told how far the training is.
        note: Told that a worker has died, and that the others go on.
    """
    require_shareable(request.config, count)
    folder = folder_of(out, resume)
    watched = _Furthest(listener)
    fruitless = 0
    words = {"request": record.to_json(), "count": count, "out": out and str(folder), "resume": resume and str(folder)}
    while (why := _attempt(words, count, watched)) is not None:
        fruitless = 0 if watched.got_further() else fruitless + 1
        if fruitless == _MOST_FRUITLESS:
            raise ModelError(
                f"training: {why}, {_MOST_FRUITLESS} times without getting further. What is finished is kept. If "
                "memory ran out, use fewer workers or a smaller sampling.batch_size; then start the same command again."
            )
        note(f"{why}; all go on from the last checkpoint")
    return result_of(load_model(folder), folder)


class _Furthest:
    """Passes reports on, and remembers how far training ever was."""

    def __init__(self, listener: TrainingListener) -> None:
        self._listener = listener
        self._now = self._before = (-1, 0.0)

    def __call__(self, report: TrainingReport) -> None:
        self._now = max(self._now, (report.epoch, report.done))
        self._listener(report)

    def got_further(self) -> bool:
        """Whether training got further since this was last asked."""
        further, self._before = self._now > self._before, self._now
        return further


def _attempt(words: dict[str, Any], count: int, listener: TrainingListener) -> str | None:
    """Start workers and wait for them. Returns None if the model is trained, else who died."""
    answers: Answers = queue.Queue()
    with tempfile.TemporaryDirectory(prefix="gtea-") as folder:  # nobody else may read it
        workers: list[WorkerProcess] = []
        try:
            for number in range(count):
                workers.append(WorkerProcess(_MODULE, number, answers, threads=1))
                workers[-1].send({**words, "number": number, "meeting": f"{folder}/meeting"})
            return _outcome(answers, count, listener)
        finally:
            for worker in workers:
                worker.close(kill=True)


def _outcome(answers: Answers, count: int, listener: TrainingListener) -> str | None:
    """Listen until the leader is done, or all have ended. The first error is raised."""
    left, followed, deaths = set(range(count)), set[int](), dict[int, int]()
    deadline: float | None = None
    while left:
        try:
            number, answer = answers.get(timeout=None if deadline is None else max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        if "report" in answer:
            listener(TrainingReport(**{**answer["report"], "folder": Path(answer["report"]["folder"])}))
        elif "error" in answer:
            raise_error("training", answer)
        elif "lost" in answer:
            followed.add(number)
        elif "done" in answer and number == 0:
            return None
        elif "died" in answer:
            left.discard(number)
            if answer["died"] != 0 and number not in followed:
                deaths[number] = answer["died"]
                deadline = deadline or time.monotonic() + _SECONDS_TO_FOLLOW
    if not deaths:
        return "the workers lost each other"
    number, code = min(deaths.items(), key=lambda death: death[1])  # a signal is what others follow from
    return (
        f"worker {number} was killed by {signal.Signals(-code).name}"
        if code < 0
        else (f"worker {number} ended with code {code}")
    )
