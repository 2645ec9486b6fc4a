"""The stream of changes to many readers, none of whom can hold it up.

Each reader has a queue with an end. Who does not keep up is told to read everything again (``resync``) and goes on from
there. Who comes back names the last message that it has, and gets those since, as long as they are kept.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from dataclasses import asdict
from typing import Any, Literal, NamedTuple

from gtea.service.path_keys import path_key
from gtea.service.published import ChangedScore, Published

Wanted = Literal["all", "alerts", "none"]
"""Which changes a reader gets: all, those of accounts that are or become alerts, or only word that there are some."""
_KEPT = 256
_QUEUED = 64
_BEAT = 15.0


class _Message(NamedTuple):
    number: int
    event: int
    pending: int
    threshold: float | None
    changes: Sequence[ChangedScore]


class ChangeFeed:
    """Hands messages to the readers of one event loop."""

    def __init__(self, beat: float = _BEAT) -> None:
        self._boot = secrets.token_hex(4)
        self._beat = beat
        self._number = 0
        self._kept: deque[_Message] = deque(maxlen=_KEPT)
        self._readers: set[asyncio.Queue[_Message | None]] = set()
        self._closed = False
        self.overflows = 0
        """How often a reader did not keep up."""

    @property
    def num_readers(self) -> int:
        """How many read."""
        return len(self._readers)

    def publish(self, published: Published, changes: Sequence[ChangedScore]) -> None:
        """Send a message to all readers. To be called in the event loop."""
        self._number += 1
        standing = published.standing
        message = _Message(self._number, published.number, standing.pending, standing.threshold, changes)
        self._kept.append(message)
        for queue in self._readers:
            if queue.qsize() < _QUEUED:
                queue.put_nowait(message)
            elif queue.qsize() == _QUEUED:
                self.overflows += 1
                queue.put_nowait(None)

    def close(self) -> None:
        """End all streams."""
        self._closed = True
        for queue in self._readers:
            queue.put_nowait(None)

    async def read(self, wanted: Wanted, last: str | None) -> AsyncGenerator[bytes, None]:
        """The messages from now on as server-sent events.

        Args:
            last: The id of the last message that the reader has, if it comes back.
        """
        queue: asyncio.Queue[_Message | None] = asyncio.Queue()
        self._readers.add(queue)
        try:
            yield b"retry: 1000\n\n"
            missed = self._since(last)
            if missed is None:
                yield self._resync()
            for message in missed or ():
                yield self._text(message, wanted)
            while not self._closed:
                try:
                    message_or_end = await asyncio.wait_for(queue.get(), self._beat)
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                if message_or_end is not None:
                    yield self._text(message_or_end, wanted)
                elif not self._closed:
                    # What waited behind the gap is in what the reader reads now.
                    while not queue.empty():
                        queue.get_nowait()
                    yield self._resync()
        finally:
            self._readers.discard(queue)

    def _since(self, last: str | None) -> list[_Message] | None:
        """The messages after one; None if some of them are not kept."""
        if last is None:
            return []
        boot, _, number = last.partition("-")
        if boot != self._boot or not number.isascii() or not number.isdigit():
            return None
        found = [message for message in self._kept if message.number > int(number)]
        return found if len(found) == self._number - int(number) else None

    def _resync(self) -> bytes:
        return f"id: {self._boot}-{self._number}\nevent: resync\ndata: {{}}\n\n".encode()

    def _text(self, message: _Message, wanted: Wanted) -> bytes:
        data: dict[str, Any] = {
            "as_of_event": message.event,
            "pending": message.pending,
            "changed": len(message.changes),
        }
        if wanted != "none":
            chosen = [each for each in message.changes if wanted == "all" or _about_alert(each, message.threshold)]
            data["changes"] = [{**asdict(each), "key": path_key(each.account)} for each in chosen]
        return f"id: {self._boot}-{message.number}\nevent: changes\ndata: {json.dumps(data)}\n\n".encode()


def _about_alert(change: ChangedScore, threshold: float | None) -> bool:
    """Whether an account is an alert or was one."""
    return change.alert or (threshold is not None and change.old is not None and change.old >= threshold)
