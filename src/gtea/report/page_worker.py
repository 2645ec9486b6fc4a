"""A worker process of ``page_workers``: reads a request and then accounts from stdin, writes pages, answers with rows.

All as JSON lines. The worker ends when its stdin closes: because the parent has no more accounts, or has gone.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterable
from typing import TextIO

from gtea.errors import GteaError
from gtea.report.case_writer import CaseRequest, CaseWriter, open_writer


def main() -> None:
    """Write pages until stdin closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and closes our stdin
    # Libraries may print to stdout. Send that to stderr, so that it doesn't mix with the JSON lines.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin, answers)


def serve(lines: Iterable[str], answers: TextIO) -> None:
    """Answer each account with its row of the index, or with the error that stopped us."""
    writer: CaseWriter | None = None
    for line in lines:
        request = json.loads(line)
        try:
            if writer is None:
                writer = open_writer(CaseRequest.from_json(request))
                continue
            answer = {"row": writer.write(**request).to_json(), "number": request["number"]}
        except GteaError as error:
            answer = {"error": type(error).__name__, "lines": list(error.lines)}
        except OSError as error:
            answer = {"error": "StoreError", "lines": [f"{error.filename or ''}: {error.strerror or error}."]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
        if "error" in answer:
            return


if __name__ == "__main__":
    main()
