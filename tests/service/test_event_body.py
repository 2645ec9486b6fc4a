"""Oversize, malformed and hostile bodies."""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Any

import pytest
from tests.report.hostile_ids import HOSTILE
from tests.service.conftest import Served, body_of

from gtea.ingestion.bad_rows import MAX_ID_BYTES
from gtea.service.path_keys import path_key

GOOD = ("b", "d", 150, 1.0, "card")
TYPE = "application/x-ndjson"


def send(served: Served, body: bytes, **headers: str) -> Any:
    given = {"content_type": TYPE, "idempotency_key": f"body {hash(body)}", **headers}
    return served.ask("POST", "/events", body, **given)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"nonsense", "must be a JSON object"),
        (b"[1]", "must be a JSON object"),
        (b'{"src": "b"}', "column 'dst': must be given"),
        (b'{"src": "b", "src": "c", "dst": "d", "time": 150, "amount": 1}', "column 'src': must be given once"),
        (b'{"src": "b", "dst": "d", "time": NaN, "amount": 1}', "must be a JSON object"),
        (b'{"src": "b", "dst": "d", "time": 150, "amount": 1e999}', "column 'amount'"),
        (b'{"src": "", "dst": "d", "time": 150, "amount": 1}', "column 'src'"),
        (b'{"src": "b", "dst": "d", "time": 99999999999, "amount": 1}', "a date must be between 1970 and tomorrow"),
        (b'{"src": "\\ud800", "dst": "d", "time": 150, "amount": 1}', "column 'src'"),
        (b"[" * 100_000, "must be a JSON object"),
        (b'{"src": "b", "dst": "d", "time": 1' + b"0" * 5_000 + b', "amount": 1}', ""),
        (b"\xff\xfe", "must be a JSON object"),
        (json.dumps({"src": "x" * 70_000, "dst": "d", "time": 150, "amount": 1}).encode(), "column 'src'"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_taken(served: Served, line: bytes, reason: str) -> None:
    before = served.get("/alerts").json["as_of_event"]
    answer = send(served, body_of([GOOD]) + line + b"\n" + body_of([GOOD]))
    assert answer.status == 422
    assert answer.json["detail"].startswith("1 lines can't become events, so none was taken")
    assert answer.json["lines"][0]["line"] == 2
    assert reason in answer.json["lines"][0]["reason"]
    assert len(answer.body) < 2_000
    assert served.get("/alerts").json["as_of_event"] == before


def test_no_events_and_too_many(served: Served) -> None:
    assert send(served, b"").status == send(served, b"\n\n \n").status == 422
    assert send(served, b"\n" * 6_000).status == 413
    assert send(served, b"x" * (1 << 20) + b"x").status == 413
    assert send(served, b"x" * (3 << 20)).status == 413
    # Nor in pieces, of which nobody says how many come.
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
        head = f"POST /events HTTP/1.1\r\nhost: localhost\r\ncontent-type: {TYPE}\r\nidempotency-key: pieces\r\n"
        connection.sendall(head.encode() + b"transfer-encoding: chunked\r\n\r\n")
        with contextlib.suppress(ConnectionError):  # it stops listening as soon as it is too much
            for _ in range(400):
                connection.sendall(b"10000\r\n" + b"y" * 65_536 + b"\r\n")
        with contextlib.suppress(ConnectionError):
            assert connection.recv(100).startswith(b"HTTP/1.1 413")
    assert served.get("/healthz").status == 200


@pytest.mark.parametrize("key", ["", "x" * 201, "ä"])
def test_a_request_needs_a_key(served: Served, key: str) -> None:
    answer = served.ask("POST", "/events", body_of([GOOD]), content_type=TYPE, idempotency_key=key)
    assert (answer.status, "Idempotency-Key: must be" in answer.json["detail"]) == (400, True)


def test_without_a_key_or_as_something_else(served: Served) -> None:
    answer = served.ask("POST", "/events", body_of([GOOD]), content_type=TYPE)
    assert "Idempotency-Key: must be given" in answer.json["detail"]
    assert send(served, b"x", content_encoding="gzip").status == 415
    assert send(served, b"x", content_type=TYPE + "; charset=latin-1").status == 415
    assert send(served, body_of([GOOD]), content_type="application/json; charset=UTF-8").status == 200


def test_hostile_ids_are_ids(served: Served) -> None:
    hostile = [account for account in HOSTILE if len(account.encode()) <= MAX_ID_BYTES]
    answer = send(served, body_of([(account, "b", 150, 1.0, "card") for account in hostile]))
    assert answer.status == 200, answer.body
    assert {each["account"] for each in answer.json["scores"]} == {*hostile, "b"}
    for account in hostile:
        assert served.get(f"/accounts/{path_key(account)}").json["account"] == account
