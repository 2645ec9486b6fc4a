"""What a client is told when it does not get what it asked for: a document of RFC 9457, and nothing of our insides."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

PROBLEM_JSON = "application/problem+json"


class ProblemError(Exception):
    """A request that is not done, and why."""

    def __init__(self, status: int, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail
        self.headers, self.more = dict(headers or {}), more

    def response(self) -> Response:
        """The answer."""
        content = {"title": HTTPStatus(self.status).phrase, "status": self.status, "detail": self.detail, **self.more}
        # A lone surrogate of a client's text can't be written as UTF-8.
        text = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
        return Response(text, self.status, self.headers, PROBLEM_JSON)


def busy(detail: str) -> ProblemError:
    """The answer to who should come again in a second."""
    return ProblemError(503, detail, headers={"retry-after": "1"})
