"""A worker process of ``local_pool``: reads tasks from stdin and writes outcomes to stdout, as JSON lines.

It exits when its stdin closes. What a task needs is imported only when it arrives, so that the thread that watches
stdin starts at once.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from pathlib import Path

from gtea.runtime.worker_process import answer_stream, send_answer


def main() -> None:
    """Run tasks until stdin closes."""
    answers = answer_stream()
    requests: queue.Queue[dict[str, str]] = queue.Queue()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    while True:
        request = requests.get()
        from gtea.cluster.tasks import from_json, outcome_of

        send_answer(answers, outcome_of(Path(request["folder"]), from_json(request["task"])))


def _read(requests: queue.Queue[dict[str, str]]) -> None:
    for line in sys.stdin:
        requests.put(json.loads(line))
    os._exit(0)


if __name__ == "__main__":
    main()
