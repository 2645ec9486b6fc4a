"""A worker process of ``page_workers``: reads a request and then accounts from stdin, writes pages, answers with rows.

All as JSON lines. The worker ends when its stdin closes: because the parent has no more accounts, or has gone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import TextIO

from gtea.report.case_writer import CaseRequest, CaseWriter, open_writer
from gtea.runtime.worker_process import answer_stream, error_answer, send_answer


def main() -> None:
    """Write pages until stdin closes."""
    serve(sys.stdin, answer_stream())


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
        except Exception as error:
            answer = error_answer(error)
        send_answer(answers, answer)
        if "error" in answer:
            return


if __name__ == "__main__":
    main()
