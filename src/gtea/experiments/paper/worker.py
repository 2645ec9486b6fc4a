"""A helper process of ``parallel_map``: reads jobs, performs them, says what came of each. A line of JSON each way.

What trains is imported only when there is a job: from the first moment on, somebody must watch the life line.
"""

from __future__ import annotations

import dataclasses
import json
import os
import queue
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from gtea.errors import GteaError

if TYPE_CHECKING:
    from gtea.experiments.paper.jobs import Job
    from gtea.training.loop import TrainingReport

_SECONDS = 0.5
"""Between two reports: whoever watches can't read faster."""


def main() -> None:
    """Perform jobs until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the experiment decides; we end with our input
    # Whatever libraries print must not end up between the lines.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    jobs: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_read, args=(jobs,), daemon=True).start()
    while True:
        answer(jobs.get(), answers)


def _read(jobs: queue.Queue[dict[str, Any]]) -> None:
    for line in sys.stdin:
        jobs.put(json.loads(line))
    os._exit(0)


def answer(asked: dict[str, Any], answers: TextIO) -> None:
    """Perform a job, report on the way, and say what came of it."""
    last = 0.0

    def say(line: dict[str, Any]) -> None:
        answers.write(json.dumps(line) + "\n")
        answers.flush()

    def told(report: TrainingReport) -> None:
        nonlocal last
        if time.monotonic() - last > _SECONDS:
            last = time.monotonic()
            say({"report": {**dataclasses.asdict(report), "folder": str(report.folder)}})

    try:
        from gtea.experiments.paper.run_job import run_job

        outcome = run_job(_job(asked["job"]), Path(asked["out"]), told)
    except GteaError as error:
        say({"error": _kind(error), "message": str(error)})
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        say({"error": "StoreError", "message": f"{where}{error.strerror or error}. Check space and permissions."})
    except Exception as error:  # a bug is reported by the experiment as one of its own
        say({"error": None, "message": f"{type(error).__name__}: {error} (--jobs 1 says more)"})
    else:
        say({"outcome": dataclasses.asdict(outcome)})


def _job(plain: dict[str, Any]) -> Job:
    from gtea.config import config_from_json
    from gtea.experiments.paper.jobs import Job, Repeat
    from gtea.experiments.paper.subject import Subject

    subject = plain["subject"]
    paths = {name: Path(subject[name]) for name in ("store", "labels") if subject[name] is not None}
    return Job(
        **{
            **plain,
            "subject": Subject(**{**subject, **paths}),
            "repeat": Repeat(**plain["repeat"]),
            "config": config_from_json(plain["config"]),
        }
    )


def _kind(error: GteaError) -> str:
    """The nearest class that gtea.errors itself has."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "gtea.errors")


if __name__ == "__main__":
    main()
