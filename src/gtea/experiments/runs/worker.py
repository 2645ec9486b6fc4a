"""A worker process of ``worker_pool``: reads jobs from stdin and writes reports and outcomes to stdout, as JSON lines.

The worker exits when its stdin closes. The training code is imported only when a job arrives, so that the thread that
watches stdin starts at once.
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
    from gtea.experiments.runs.jobs import Job
    from gtea.training.loop import TrainingReport

_REPORT_INTERVAL = 0.5
"""Minimum seconds between two reports."""


def main() -> None:
    """Run jobs until stdin closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and closes our stdin
    # Libraries may print to stdout. Send that to stderr, so that it doesn't mix with the JSON lines.
    responses = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    requests: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    while True:
        handle_request(requests.get(), responses)


def _read(requests: queue.Queue[dict[str, Any]]) -> None:
    for line in sys.stdin:
        requests.put(json.loads(line))
    os._exit(0)


def handle_request(request: dict[str, Any], responses: TextIO) -> None:
    """Run a job. Writes reports during training, then the outcome or an error."""
    last = 0.0

    def send(line: dict[str, Any]) -> None:
        responses.write(json.dumps(line) + "\n")
        responses.flush()

    def on_report(report: TrainingReport) -> None:
        nonlocal last
        if time.monotonic() - last > _REPORT_INTERVAL:
            last = time.monotonic()
            send({"report": {**dataclasses.asdict(report), "folder": str(report.folder)}})

    try:
        from gtea.experiments.runs.run_job import run_job

        outcome = run_job(_job(request["job"]), Path(request["out"]), on_report)
    except GteaError as error:
        send({"error": _error_class(error), "lines": error.lines})
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        send({"error": "StoreError", "lines": [f"{where}{error.strerror or error}. Check space and permissions."]})
    except Exception as error:  # a bug: the parent raises it as its own
        send({"error": None, "lines": [f"{type(error).__name__}: {error} (use --jobs 1 for a traceback)"]})
    else:
        send({"outcome": dataclasses.asdict(outcome)})


def _job(record: dict[str, Any]) -> Job:
    from gtea.config import config_from_json
    from gtea.experiments.runs.jobs import Job, Repeat
    from gtea.experiments.runs.subject import Subject

    subject = record["subject"]
    paths = {name: Path(subject[name]) for name in ("store", "labels") if subject[name] is not None}
    return Job(
        **{
            **record,
            "subject": Subject(**{**subject, **paths}),
            "repeat": Repeat(**record["repeat"]),
            "config": config_from_json(record["config"]),
        }
    )


def _error_class(error: GteaError) -> str:
    """The name of the nearest base class defined in gtea.errors."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "gtea.errors")


if __name__ == "__main__":
    main()
