"""The body of ``POST /events``: JSON lines, each an event with the columns of the store. All are taken, or none."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

from starlette.requests import ClientDisconnect, Request

from gtea.live.event_lines import BadLine, EventLines
from gtea.live.event_rows import EventReader, EventRow
from gtea.service.client_limits import ClientLimits
from gtea.service.problem import ProblemError

_TYPES = ("application/x-ndjson", "application/jsonl", "application/json")
_NAMED = 20
"""How many bad lines are named in an answer."""
_SMALL = 16 << 10
_SHOWN = 200
_LONGEST_KEY = 200
_PASSED_OVER = 8


def idempotency_key(request: Request) -> str:
    """The key of a request: a text that its sender gives to these events and to no others."""
    key = request.headers.get("idempotency-key")
    if key is None:
        raise ProblemError(
            400,
            "Idempotency-Key: must be given, so that a request that is sent again is not counted twice. "
            "Send a new UUID with each request, and the same one when you repeat it.",
        )
    if not 0 < len(key) <= _LONGEST_KEY or not key.isascii() or not key.isprintable():
        raise ProblemError(
            400, f"Idempotency-Key: must be 1 to {_LONGEST_KEY} printable ASCII characters. Send a UUID."
        )
    return key


def require_json_lines(request: Request) -> None:
    """Refuse what a form on any web page can send: plain text and forms."""
    kind, _, parameters = request.headers.get("content-type", "").partition(";")
    charset = parameters.strip().lower()
    if kind.strip().lower() not in _TYPES or charset.replace('"', "") not in ("", "charset=utf-8"):
        raise ProblemError(415, "Content-Type: must be application/x-ndjson: one JSON object a line, in UTF-8.")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise ProblemError(415, "Content-Encoding: must be identity. Send the lines as they are.")


async def read_body(request: Request, limits: ClientLimits) -> bytes:
    """The body, as long as it may be."""
    length = request.headers.get("content-length", "0")
    too_large = length.isascii() and length.isdigit() and int(length) > limits.body
    if too_large and int(length) > _PASSED_OVER * limits.body:
        raise _too_large(limits)
    parts, size = list[bytes](), 0
    try:
        # A client that still sends does not read an answer: what is a little too much is passed over first.
        async for part in request.stream():
            size += len(part)
            too_large = too_large or size > limits.body
            if size > _PASSED_OVER * limits.body:
                break
            if too_large:
                parts.clear()
            else:
                parts.append(part)
    except ClientDisconnect as error:
        raise ProblemError(400, "The request ended before its body did. Send it again.") from error
    if too_large:
        raise _too_large(limits)
    return b"".join(parts)


async def read_events(body: bytes, reader: EventReader, limits: ClientLimits) -> list[EventRow]:
    """The events of a body. If a line can't become an event, an error names it, and none is taken."""
    if len(body) <= _SMALL:
        rows, bad = _read(body, reader, limits)
    else:
        rows, bad = await asyncio.get_running_loop().run_in_executor(None, _read, body, reader, limits)
    if bad:
        raise ProblemError(
            422, f"{len(bad):,} lines can't become events, so none was taken. Fix them.", lines=_named(bad)
        )
    if not rows:
        raise ProblemError(
            422, "The body must have at least one event (got none). Send one JSON object a line.", lines=[]
        )
    return rows


def body_digest(body: bytes) -> bytes:
    """What tells one body from another."""
    return hashlib.sha256(body).digest()


def _read(body: bytes, reader: EventReader, limits: ClientLimits) -> tuple[list[EventRow], list[BadLine]]:
    lines = body.split(b"\n")
    if len(lines) > limits.events + 1:
        raise ProblemError(
            413, f"A request must have at most {limits.events:,} lines (got {len(lines):,}). Send several."
        )
    rows, bad = EventLines(reader, "json").read(enumerate(lines, start=1))
    return [row for _, _, row in rows], bad


def _named(bad: list[BadLine]) -> list[dict[str, Any]]:
    return [{"line": line.number, "reason": line.reason[:_SHOWN]} for line in bad[:_NAMED]]


def _too_large(limits: ClientLimits) -> ProblemError:
    return ProblemError(
        413,
        f"A body must have at most {limits.body:,} bytes. Send several requests.",
        headers={"connection": "close"},
    )
