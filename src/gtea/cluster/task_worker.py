"""A worker process of ``local_pool``: reads tasks from stdin and writes outcomes to stdout, as JSON lines.

It exits when its stdin closes. What a task needs is imported only when it arrives, so that the thread that watches
stdin starts at once.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from pathlib import Path


def main() -> None:
    """Run tasks until stdin closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and closes our stdin
    # Libraries may print to stdout. Send that to stderr, so that it doesn't mix with the JSON lines.
    responses = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    requests: queue.Queue[dict[str, str]] = queue.Queue()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    while True:
        request = requests.get()
        from gtea.cluster.tasks import from_json, outcome_of

        responses.write(json.dumps(outcome_of(Path(request["folder"]), from_json(request["task"]))) + "\n")
        responses.flush()


def _read(requests: queue.Queue[dict[str, str]]) -> None:
    for line in sys.stdin:
        requests.put(json.loads(line))
    os._exit(0)


if __name__ == "__main__":
    main()
