"""A worker process of ``local_workers``: trains its share of one run. The leader reports as JSON lines.

It exits when its stdin closes: the command that started it is gone.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from gtea.runtime.worker_process import answer_stream, send_answer

if TYPE_CHECKING:
    from gtea.training.loop import TrainingReport


def main() -> None:
    """Train, and say how it ended."""
    answers = answer_stream()
    request = json.loads(sys.stdin.readline() or "null")
    if request is not None:  # else the command is gone already
        threading.Thread(target=_watch, daemon=True).start()
        send_answer(answers, _outcome(request, answers))


def _outcome(request: dict[str, Any], answers: TextIO) -> dict[str, Any]:
    from gtea.cluster.tasks import error_outcome
    from gtea.training.process_group import joined_by_file
    from gtea.training.request_record import RequestRecord
    from gtea.training.shared_run import train_shared
    from gtea.training.tensorboard import with_board
    from gtea.training.workers import LostWorkerError

    def report(done: TrainingReport) -> None:
        send_answer(answers, {"report": {**asdict(done), "folder": str(done.folder)}})

    record = RequestRecord(**request["request"])
    place = Path(request["meeting"]), request["number"], request["count"], record.device
    try:
        with joined_by_file(*place) as workers:
            train_shared(record.open, request["out"], request["resume"], workers, with_board(report))
    except LostWorkerError as error:
        return {"lost": error.lines}
    except Exception as error:
        return error_outcome(error)
    return {"done": True}


def _watch() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    main()
