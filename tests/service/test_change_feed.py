from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import AsyncGenerator
from typing import Any

import numpy as np
from tests.service.conftest import Served

from gtea.live.live_standing import LiveStanding
from gtea.service.change_feed import ChangeFeed, Wanted
from gtea.service.published import ChangedScore, Published
from gtea.store.strings import StringTable

CHANGES = [ChangedScore("a", 0.1, 0.9, True), ChangedScore("b", 0.8, 0.2, False), ChangedScore("c", None, 0.1, False)]


def published(number: int) -> Published:
    nothing = StringTable(np.zeros(1, np.int64), np.zeros(0, np.uint8))
    none = np.zeros(0)
    return Published(number, LiveStanding(nothing, nothing.find, none, none > 0, none.astype(np.int64), 0.5, 7))


async def following(feed: ChangeFeed, wanted: Wanted = "all", last: str | None = None) -> AsyncGenerator[bytes, None]:
    reader = feed.read(wanted, last)
    assert await anext(reader) == b"retry: 1000\n\n"
    return reader


def parsed(message: bytes) -> tuple[str, str, Any]:
    fields = dict(line.split(": ", 1) for line in message.decode().strip().split("\n"))
    return fields["id"], fields["event"], json.loads(fields["data"])


def test_each_reader_gets_what_it_wants() -> None:
    async def test() -> None:
        feed = ChangeFeed()
        found = {}
        for wanted in ("all", "alerts", "none"):
            reader = await following(feed, wanted)
            waiting = asyncio.ensure_future(anext(reader))
            await asyncio.sleep(0)
            feed.publish(published(3), CHANGES)
            found[wanted] = parsed(await waiting)[2]
            assert feed.num_readers == 1
            await reader.aclose()
            assert feed.num_readers == 0
        assert [each["account"] for each in found["all"]["changes"]] == ["a", "b", "c"]
        assert [each["account"] for each in found["alerts"]["changes"]] == ["a", "b"]
        assert found["none"] == {"as_of_event": 3, "pending": 7, "changed": 3}

    asyncio.run(test())


def test_who_comes_back_gets_what_it_missed() -> None:
    async def test() -> None:
        feed = ChangeFeed()
        for number in range(1, 301):
            feed.publish(published(number), [])
        reader = await following(feed, last=f"{feed._boot}-298")
        assert [parsed(await anext(reader))[2]["as_of_event"] for _ in range(2)] == [299, 300]
        for last in (f"{feed._boot}-3", "other-298", f"{feed._boot}-x", f"{feed._boot}-999"):
            reader = await following(feed, last=last)
            assert parsed(await anext(reader))[:2] == (f"{feed._boot}-300", "resync")
        reader = await following(feed)
        waiting = asyncio.ensure_future(anext(reader))
        await asyncio.sleep(0)
        feed.publish(published(301), [])
        assert parsed(await waiting)[2]["as_of_event"] == 301

    asyncio.run(test())


def test_who_is_too_slow_is_told_and_holds_nobody_up() -> None:
    async def test() -> None:
        feed = ChangeFeed()
        reader = await following(feed)
        for number in range(1, 1_000):
            feed.publish(published(number), CHANGES)
        assert next(iter(feed._readers)).qsize() <= 65
        assert feed.overflows == 1
        events = [parsed(await anext(reader)) for _ in range(65)]
        assert [event for _, event, _ in events] == ["changes"] * 64 + ["resync"]
        assert events[-1][0] == f"{feed._boot}-999"
        waiting = asyncio.ensure_future(anext(reader))
        await asyncio.sleep(0)
        feed.publish(published(1_000), [])
        assert parsed(await waiting)[2]["as_of_event"] == 1_000

    asyncio.run(test())


def test_a_silent_stream_lives_and_a_closed_one_ends() -> None:
    async def test() -> None:
        feed = ChangeFeed(beat=0.01)
        reader = await following(feed)
        assert (await anext(reader)).startswith(b":")
        feed.close()
        assert [message async for message in reader] in ([], [b": still here\n\n"])

    asyncio.run(test())


def test_the_stream_over_http(served: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    connection.request("GET", "/stream")
    answer = connection.getresponse()
    assert answer.getheader("content-type") == "text/event-stream; charset=utf-8"
    assert answer.readline() == b"retry: 1000\n"
    served.post([("streamed", "b", 150, 1.0, "card")])
    lines = [answer.readline() for _ in range(5)]
    assert lines[2] == b"event: changes\n"
    data = json.loads(lines[3].removeprefix(b"data: "))
    changed = {each["account"]: each for each in data["changes"]}
    assert changed["streamed"]["old"] is None
    assert changed["streamed"]["new"] == served.get("/accounts/" + changed["streamed"]["key"]).json["score"]
    connection.close()
