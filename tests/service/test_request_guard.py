"""What a stranger on the network can do."""

from __future__ import annotations

import asyncio
import base64
import http.client
import logging
from collections.abc import Callable, Iterator

import pytest
from starlette.routing import Route, Router
from starlette.types import Message, Scope
from tests.service.conftest import Made, Served, body_of, until
from tests.service.forked_servers import end

from gtea.service.access import Access
from gtea.service.client_limits import ClientLimits
from gtea.service.request_guard import RequestGuard
from gtea.service.service_metrics import ServiceMetrics

TOKEN = "0123456789abcdef" * 4
ROW = ("b", "d", 150, 1.0, "card")


@pytest.fixture(scope="module")
def guarded(made: Made, serve: Callable[..., Served], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "token").write_text(TOKEN)
    (folder / "token").chmod(0o600)
    options = ["--token-file", str(folder / "token"), "--allow-host", "scores.bank", "--access-log", "routes"]
    served = serve(made.copied(folder), *options)
    yield served
    end(served.process)


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def test_without_the_token_nothing_is_told(guarded: Served) -> None:
    for path in ("/", "/accounts", "/alerts", "/stream", "/metrics", "/openapi.json", "/nothing", "/accounts/Yg"):
        answer = guarded.get(path)
        assert (answer.status, answer.json["title"]) == (401, "Unauthorized")
        assert "Basic" in answer.headers["www-authenticate"]
    assert guarded.post([ROW]).status == 401
    assert guarded.get("/healthz").status == guarded.get("/readyz").status == 200
    assert guarded.get("/alerts", **bearer(TOKEN)).status == 200
    basic = base64.b64encode(f"any:{TOKEN}".encode()).decode()
    assert guarded.get("/alerts", authorization=f"Basic {basic}").status == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "127.0.0.1@evil.example"])
def test_other_names_are_not_answered(served: Served, host: str) -> None:
    assert served.get("/alerts", host=host).status == 421


def test_pages_of_other_sites_can_send_nothing(served: Served) -> None:
    before = served.get("/alerts").json["as_of_event"]
    for headers in (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site", "origin": f"http://localhost:{served.port}"},
    ):
        assert served.post([ROW], **headers).status == 403
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        assert served.post([ROW], content_type=kind).status == 415
    assert served.get("/alerts").json["as_of_event"] == before
    own = {"origin": f"http://127.0.0.1:{served.port}", "sec_fetch_site": "same-origin"}
    assert served.post([ROW], **own).status == 200


def test_browsers_are_told_what_not_to_do(served: Served) -> None:
    answer = served.get("/alerts")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert "access-control-allow-origin" not in answer.headers
    assert "server" not in answer.headers


def test_no_id_is_in_the_log(guarded: Served) -> None:
    guarded.ask(
        "POST",
        "/events",
        body_of([("secret-account", "d", 150, 1.0, "card")]),
        content_type="application/x-ndjson",
        idempotency_key="secret-key",
        **bearer(TOKEN),
    )
    guarded.get("/accounts/c2VjcmV0LWFjY291bnQ?q=secret", **bearer(TOKEN))
    until(lambda: "GET /accounts/{key} 200" in guarded.printed.read_text(), guarded.printed)
    printed = guarded.printed.read_text()
    assert "secret" not in printed
    assert "c2VjcmV0" not in printed
    assert TOKEN not in printed


async def answered(guard: RequestGuard, path: str, method: str = "GET") -> tuple[int, bytes]:
    """One request without a network."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "headers": [(b"host", b"localhost")],
        "query_string": b"",
        "client": ("10.0.0.9", 1),
    }
    await guard(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


@pytest.mark.parametrize("ids", [False, True])
def test_no_trace_of_a_bug_leaves(caplog: pytest.LogCaptureFixture, ids: bool) -> None:
    async def broken(request: object) -> None:
        raise KeyError("-".join(["secret", "account"]))

    access, router = Access.of("127.0.0.1", (), None), Router([Route("/x", broken)])
    guard = RequestGuard(router, access, ClientLimits(), ServiceMetrics(), "ids" if ids else "routes")
    with caplog.at_level(logging.INFO, "gtea.service"):
        status, body = asyncio.run(answered(guard, "/x"))
    assert status == 500
    assert b"KeyError" not in body
    assert b"secret" not in body
    assert "a request failed with KeyError" in caplog.text
    assert "test_request_guard.py" in caplog.text
    assert ("secret-account" in caplog.text) is ids


def test_one_address_has_a_rate() -> None:
    access = Access.of("127.0.0.1", (), None)
    guard = RequestGuard(Router([]), access, ClientLimits(rate=2.0), ServiceMetrics(), "none")
    statuses = [asyncio.run(answered(guard, "/x"))[0] for _ in range(6)]
    assert statuses == [404] * 4 + [429] * 2


def test_a_head_has_an_end(served: Served) -> None:
    assert served.get("/alerts?" + "x" * 17_000).status == 431
    assert served.get("/alerts", x_long="x" * 17_000).status == 431
    assert served.get("/alerts", x_long="x" * 7_000).status == 200


def test_two_hosts_are_none(served: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)
    connection.putrequest("GET", "/alerts", skip_host=True)
    connection.putheader("Host", "localhost")
    connection.putheader("Host", "evil.example")
    connection.endheaders()
    assert connection.getresponse().status in (400, 421)
    connection.close()


def test_who_guesses_tokens_has_to_wait(guarded: Served) -> None:
    statuses = [guarded.get("/alerts", **bearer("x" * 64)).status for _ in range(30)]
    assert statuses[0] == 401
    assert statuses[-1] == 429
