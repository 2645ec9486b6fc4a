"""Case pages and reasons for a service: who waits, as of which event, and the process that explains.

One account is explained at a time, outside of this process. The store as of an event is made once and used for some
time: as long as the account's score has not changed since, and for ten times as long as making it took.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from gtea.report.standing_figure import score_counts
from gtea.runtime.worker_process import Answers, WorkerProcess, told_error
from gtea.service.case_request import LiveCaseRequest, ServedPlaces
from gtea.service.live_writer import NoRoomError
from gtea.service.log_checkpoints import Checkpoints
from gtea.service.published import Published

_WAITING = 8
_SECONDS, _FIRST_SECONDS = 60.0, 300.0
"""How long an account may take; longer while the process starts, which may have to compile."""
_USED_FOR = 10.0
_SAME = 1e-6


class TooLongError(Exception):
    """An account can't be explained in the time that there is."""


@dataclass(frozen=True)
class Explained:
    """What the process said, and as of which event."""

    answer: dict[str, Any]
    as_of: Published


@dataclass(frozen=True)
class _Kept:
    """What the process has made a store of."""

    published: Published
    until: float
    """When it is too old."""

    def serves(self, account: str, now: Published) -> bool:
        """Whether the account has the same score in it as now."""
        old, new = self.published.standing, now.standing
        node = old.find(account)
        return node >= 0 and not old.marked[node] and abs(old.scores[node] - new.scores[node]) < _SAME


class CaseDesk:
    """Explains accounts to who asks."""

    def __init__(
        self,
        places: ServedPlaces,
        checkpoints: Checkpoints,
        exact: Callable[[str], Awaitable[Published]],
        limits: tuple[float, float] = (_SECONDS, _FIRST_SECONDS),
        used_for: float = _USED_FOR,
    ) -> None:
        """Start nothing yet.

        Args:
            exact: What readers see, with the score of one account computed.
            limits: For how many seconds an account may take, and the first one.
            used_for: For how many times as long as making it took, the store as of an event is used.
        """
        self._places, self._checkpoints, self._exact = places, checkpoints, exact
        self._limits, self._used_for = limits, used_for
        self._turn, self._waiting = asyncio.Lock(), 0
        self._kept: _Kept | None = None
        self._worker: WorkerProcess | None = None
        self._answers: Answers = queue.Queue()
        self._closing = threading.Lock()
        self._closed = False

    async def page(self, account: str) -> Explained:
        """The case page of an account that has an event."""
        return await self._explained(account, None)

    async def reasons(self, account: str, most: int) -> Explained:
        """The counterparties with the largest effects on the score of an account."""
        return await self._explained(account, most)

    def close(self) -> None:
        """End the process. Who waits is told that we are busy."""
        with self._closing:
            self._closed = True
            self._end()

    async def _explained(self, account: str, reasons: int | None) -> Explained:
        if self._waiting >= _WAITING:
            raise NoRoomError
        self._waiting += 1
        try:
            async with self._turn:
                return await self._explain(account, reasons)
        finally:
            self._waiting -= 1

    async def _explain(self, account: str, reasons: int | None) -> Explained:
        now, kept = await self._exact(account), self._kept
        if kept is not None and kept.published.number == now.number:
            kept = self._kept = replace(kept, published=now)
        young = kept is not None and time.monotonic() < kept.until
        if kept is not None and (kept.published is now or (young and kept.serves(account, now))):
            return Explained(await self._ask(account, kept.published, reasons), kept.published)
        # The process can leave events out that are in the log, but not those that are in the store.
        with self._checkpoints.held():
            now = await self._exact(account)
            self._kept = None
            answer = await self._ask(account, now, reasons)
        self._kept = _Kept(now, time.monotonic() + self._used_for * float(answer["seconds"]))
        return Explained(answer, now)

    async def _ask(self, account: str, published: Published, reasons: int | None) -> dict[str, Any]:
        standing = published.standing
        node = standing.find(account)
        known = standing.scores[~np.isnan(standing.scores)]
        request = LiveCaseRequest(
            account,
            published.number,
            float(standing.scores[node]),
            reasons,
            standing.rank(node),
            standing.num_ranked,
            () if reasons is not None else tuple(score_counts(known).tolist()),
        )
        return await asyncio.to_thread(self._answer, asdict(request))

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        seconds, first_seconds = self._limits
        with self._closing:
            if self._closed:
                raise NoRoomError
            is_first, self._worker = self._worker is None, self._worker or self._started()
            self._worker.send(request)
        try:
            _, answer = self._answers.get(timeout=first_seconds if is_first else seconds)
        except queue.Empty:
            with self._closing:
                self._end()
            raise TooLongError from None
        if "died" in answer:
            with self._closing:
                self._end()
            raise TooLongError
        if "error" in answer:
            with self._closing:  # whatever is wrong with it, the next one starts anew
                self._end()
            raise told_error(answer, "explaining")
        return answer

    def _started(self) -> WorkerProcess:
        self._answers = queue.Queue()
        worker = WorkerProcess("gtea.service.case_worker", 0, self._answers, threads=1)
        worker.send(asdict(self._places))
        return worker

    def _end(self) -> None:
        if self._worker is not None:
            self._worker.close(kill=True)
        self._worker = self._kept = None
