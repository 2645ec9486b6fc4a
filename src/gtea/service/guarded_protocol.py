"""HTTP/1.1 with an end to patience: uvicorn's protocol, where who sends or reads too slowly is cut off.

uvicorn limits the size of headers, and how long a connection is idle between requests. It waits for ever for the rest
of a request, for the first one, and for a client that does not read its answer.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from gtea.service.client_limits import ClientLimits

_FULL = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_RECEIVED = (h11.DONE, h11.MUST_CLOSE, h11.CLOSED, h11.ERROR)


class GuardedProtocol(H11Protocol):
    """One connection."""

    limits = ClientLimits()
    cut = 0
    """How many connections were cut off or refused, of all of a class."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._receiving: asyncio.TimerHandle | None = None
        self._sending: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, if there is room for it."""
        if len(self.connections) >= self.limits.connections:
            type(self).cut += 1
            self.transport = transport
            transport.write(_FULL)
            transport.close()
            return
        super().connection_made(transport)
        self._receiving = self.loop.call_later(self.limits.receive, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clocks."""
        self._stop_receiving()
        self._stop_sending()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take a part of a request. The clock runs until the request is there as a whole."""
        if self.transport.is_closing():
            return
        if self._receiving is None:
            self._receiving = self.loop.call_later(self.limits.receive, self._give_up)
        super().data_received(data)
        state, rest = self.conn.their_state, self.conn.trailing_data[0]
        if state in _RECEIVED or (state is h11.IDLE and not rest):
            self._stop_receiving()

    def pause_writing(self) -> None:
        """The client does not read what it asked for: it has so much time to begin."""
        super().pause_writing()
        if self._sending is None:
            self._sending = self.loop.call_later(self.limits.receive, self._give_up)

    def resume_writing(self) -> None:
        """The client reads."""
        super().resume_writing()
        self._stop_sending()

    def _give_up(self) -> None:
        type(self).cut += 1
        self.transport.abort()

    def _stop_receiving(self) -> None:
        if self._receiving is not None:
            self._receiving.cancel()
            self._receiving = None

    def _stop_sending(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None


def protocol_with(limits: ClientLimits) -> type[GuardedProtocol]:
    """The protocol with these limits."""
    return type("LimitedProtocol", (GuardedProtocol,), {"limits": limits, "cut": 0})
