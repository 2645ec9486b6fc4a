"""Slow, endless, oversize and malformed requests, over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import uvicorn
from starlette.types import Receive, Scope, Send

from gtea.service.client_limits import ClientLimits
from gtea.service.guarded_protocol import protocol_with

LIMITS = ClientLimits(connections=4, receive=0.4, keep_alive=1.0, header=4_096)
LARGE = 32 << 20


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive()).get("more_body"):
        pass
    large = scope["path"] == "/large"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    for _ in range(LARGE >> 16 if large else 0):
        await send({"type": "http.response.body", "body": b"x" * (1 << 16), "more_body": True})
    await send({"type": "http.response.body", "body": b"done"})


@contextlib.asynccontextmanager
async def listening() -> AsyncIterator[tuple[int, type]]:
    protocol = protocol_with(LIMITS)
    config = uvicorn.Config(
        application, http=protocol, ws="none", lifespan="off", log_config=None,
        h11_max_incomplete_event_size=LIMITS.header, timeout_keep_alive=1,
    )  # fmt: skip
    server = uvicorn.Server(config)
    home = socket.create_server(("127.0.0.1", 0))
    task = asyncio.create_task(server._serve([home]))
    while not server.started:
        await asyncio.sleep(0.01)
    yield home.getsockname()[1], protocol
    server.should_exit = server.force_exit = True
    await task


def run(test: Callable[[int, type], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with listening() as (port, protocol):
            await test(port, protocol)

    asyncio.run(whole())


async def told(port: int, *parts: bytes, pause: float = 0.0) -> bytes:
    """What comes back for some bytes, until the connection ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(pause)
        return await asyncio.wait_for(reader.read(), 10)
    except ConnectionError:
        return b"reset"
    finally:
        writer.close()


GOOD = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"


def test_a_good_request_is_answered() -> None:
    async def test(port: int, protocol: type) -> None:
        assert (await told(port, GOOD)).endswith(b"done\r\n0\r\n\r\n")
        halves = await told(port, GOOD[:20], GOOD[20:], pause=0.1)
        assert halves.startswith(b"HTTP/1.1 200")
        assert protocol.cut == 0  # type: ignore[attr-defined]

    run(test)


def test_slow_senders_are_cut_off() -> None:
    async def test(port: int, protocol: type) -> None:
        begun = time.monotonic()
        head = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n"
        answers = await asyncio.gather(
            told(port),
            told(port, *[bytes([byte]) for byte in GOOD[:8]], pause=0.1),
            told(port, head, *[b"x"] * 8, pause=0.1),
        )
        assert all(not answer.startswith(b"HTTP/1.1 200") for answer in answers)
        assert time.monotonic() - begun < 5
        assert protocol.cut == 3  # type: ignore[attr-defined]

    run(test)


def test_who_does_not_read_is_cut_off() -> None:
    async def test(port: int, protocol: type) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 10)
        writer.write(b"GET /large HTTP/1.1\r\nhost: x\r\n\r\n")
        deadline = time.monotonic() + 20
        while not protocol.cut and time.monotonic() < deadline:  # type: ignore[attr-defined]
            await asyncio.sleep(0.05)
        assert protocol.cut == 1  # type: ignore[attr-defined]
        writer.close()

    run(test)


def test_there_is_room_for_so_many_and_no_more() -> None:
    async def test(port: int, protocol: type) -> None:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(LIMITS.connections)]
        await asyncio.sleep(0.1)
        assert (await told(port)).startswith(b"HTTP/1.1 503")
        for _, writer in held:
            writer.close()
        await asyncio.sleep(0.2)
        assert (await told(port, GOOD)).startswith(b"HTTP/1.1 200")

    run(test)


def test_oversize_and_malformed_heads() -> None:
    async def test(port: int, protocol: type) -> None:
        for head in (
            b"GET /" + b"x" * 300_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n",
            b"GET / HTTP/1.1\r\nhost: x\r\n" + b"a: b\r\n" * 60_000 + b"\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n",
            b"GET / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
            b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        ):
            answer = await told(port, head)
            assert not answer.startswith(b"HTTP/1.1 200"), head[:50]
            assert b"Traceback" not in answer

    run(test)
