"""A worker process of ``worker_pool``: reads jobs from stdin and writes reports and outcomes to stdout, as JSON lines.

The worker exits when its stdin closes. The training code is imported only when a job arrives, so that the thread that
watches stdin starts at once.
"""

from __future__ import annotations

import dataclasses
import json
import os
import queue
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from gtea.runtime.worker_process import answer_stream, error_answer, send_answer

if TYPE_CHECKING:
    from gtea.experiments.runs.jobs import Job
    from gtea.training.loop import TrainingReport

_REPORT_INTERVAL = 0.5
"""Minimum seconds between two reports."""


def main() -> None:
    """Run jobs until stdin closes."""
    responses = answer_stream()
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

    def on_report(report: TrainingReport) -> None:
        nonlocal last
        if time.monotonic() - last > _REPORT_INTERVAL:
            last = time.monotonic()
            send_answer(responses, {"report": {**dataclasses.asdict(report), "folder": str(report.folder)}})

    try:
        from gtea.experiments.runs.run_job import run_job

        outcome = run_job(_job(request["job"]), Path(request["out"]), on_report)
    except Exception as error:
        send_answer(responses, error_answer(error))
    else:
        send_answer(responses, {"outcome": dataclasses.asdict(outcome)})


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


if __name__ == "__main__":
    main()
