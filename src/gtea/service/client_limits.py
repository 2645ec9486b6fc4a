"""How much one client may take of the service."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass

_MOST_CLIENTS = 10_000


@dataclass(frozen=True)
class ClientLimits:
    """What is refused beyond."""

    body: int = 1 << 20
    """Bytes of a request's body."""
    events: int = 5_000
    """Events of a request."""
    header: int = 16 << 10
    """Bytes of a request's line and headers together."""
    connections: int = 512
    streams: int = 64
    """Open streams of changes."""
    rate: float = 5_000.0
    """Requests a second from one address, on average."""
    failures: float = 5.0
    """Wrong tokens a second from one address, on average."""
    receive: float = 15.0
    """Seconds for a request to arrive, and for a reader to take what it asked for."""
    keep_alive: float = 15.0
    """Seconds for which a connection may be idle."""


class RateLimit:
    """So many requests a second from each address, twice as many at once."""

    def __init__(self, per_second: float) -> None:
        self._per_second, self._burst = per_second, 2 * per_second
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, client: str, cost: float = 1.0) -> bool:
        """Whether there is room for a request, which is then counted; with no cost, only whether there is any."""
        now = time.monotonic()
        left, at = self._left.get(client, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._per_second)
        fits = left >= max(cost, 1.0)
        self._left[client] = (left - cost if fits else left, now)
        self._left.move_to_end(client)
        if len(self._left) > _MOST_CLIENTS:
            self._left.popitem(last=False)
        return fits
