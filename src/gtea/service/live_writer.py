"""The one thread that writes: it takes what waits, puts it on disk, scores it, and publishes how all accounts stand.

Requests that wait together are one commit and one update. Readers get a ``LiveStanding`` that never changes; a new one
replaces it in one step: nobody sees half an update. While nothing waits, accounts that are only marked are computed.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from gtea.errors import DataError, StoreError
from gtea.ingestion.numbered_events import last_held
from gtea.live.event_rows import EventRow
from gtea.live.live_scorer import PER_UPDATE, Changes, LiveScorer
from gtea.service.event_log import Accepted, Entry, EventLog, OtherBodyError
from gtea.service.published import ChangedScore, Published, Receipt
from gtea.store.store import Store

_AT_ONCE = 256
"""How many events an update scores at a time."""
_WAITING_EVENTS = 20_000
"""So many may wait. More are refused: whoever sends them has to wait, not our memory."""
_WAITING_ACCOUNTS = 20_000
_SETTLED_AT_ONCE = 256
_SETTLED_WHILE_BUSY = 16
_MOST_WHILE_BUSY = 16
"""How many accounts an update computes beside the ends of its events while others wait, in place of ``PER_UPDATE``."""
_IDLE = 0.2
_PAUSE = 0.005
_GATHER = 0.01
"""For so many seconds events gather, once several requests have come together: eight cost little more than one."""
_KEYS_KEPT = 7 * 86_400.0
"""For how many seconds a request can be sent again under its key."""


class NoRoomError(Exception):
    """More waits than there is room for."""


@dataclass(frozen=True)
class _Submission:
    entry: Entry
    answer: Future[Receipt]


@dataclass(frozen=True)
class _Reading:
    account: str
    answer: Future[Published]


class LiveWriter:
    """Owns the scorer and the log."""

    def __init__(
        self,
        scorer: LiveScorer,
        log: EventLog,
        held: int,
        publish: Callable[[Published, Sequence[ChangedScore]], None],
        consider_checkpoint: Callable[[int, int], None],
    ) -> None:
        """Take over a scorer of a store that holds the log's events up to ``held``.

        Args:
            publish: Is called in the writer's thread with what readers are to see from now on, and what has changed.
            consider_checkpoint: Is called now and then with the last numbers that the store and the log have.
        """
        self._scorer, self._log, self._held = scorer, log, held
        self._publish, self._consider_checkpoint = publish, consider_checkpoint
        self._jobs: queue.SimpleQueue[_Submission | _Reading | int | None] = queue.SimpleQueue()
        self._room = threading.Lock()
        self._waiting_events = self._waiting_accounts = 0
        self._forgets = self._busy = self._crowded = False
        self._applied = held
        self.published = Published(held, scorer.standing())
        self.failed: BaseException | None = None
        """What ended the thread before it was told to stop. What was accepted is on disk."""
        self._thread = threading.Thread(target=self._run, name="gtea writer", daemon=True)

    @property
    def log_bytes(self) -> int:
        """What the log takes on disk."""
        return self._log.num_bytes

    @property
    def held(self) -> int:
        """The number of the last event that the store holds."""
        return self._held

    @property
    def alive(self) -> bool:
        """Whether events can be accepted."""
        return self._thread.is_alive()

    def replay(self) -> None:
        """Score the events that are in the log and not in the store. To be called before ``start``."""
        while rows := self._log.events(self._applied, _AT_ONCE):
            self._scorer.update_records(rows)
            self._applied += len(rows)
        self._scorer.settle()
        self.published = Published(self._applied, self._scorer.standing())

    def start(self) -> None:
        """Begin to take jobs."""
        self._thread.start()

    def stop(self) -> None:
        """End after what waits has been done."""
        self._jobs.put(None)
        self._thread.join()
        self._log.close()

    def submit(self, entry: Entry) -> Future[Receipt]:
        """Have events accepted and scored. The answer comes when they are on disk and their scores are published.

        Raises:
            NoRoomError: Too many wait already.
        """
        self._reserve(len(entry.rows), 0)
        answer: Future[Receipt] = Future()
        self._jobs.put(_Submission(entry, answer))
        return answer

    def read(self, account: str) -> Future[Published]:
        """Have the score of an account computed, if it is only marked, and get what is published then."""
        self._reserve(0, 1)
        answer: Future[Published] = Future()
        self._jobs.put(_Reading(account, answer))
        return answer

    def folded(self, held: int) -> None:
        """Be told that the store holds the events up to a number."""
        self._jobs.put(held)

    def check(self, rows: Sequence[EventRow]) -> None:
        """Raise if events can't be added together."""
        self._scorer.checked(rows)

    def _reserve(self, events: int, accounts: int) -> None:
        with self._room:
            full = events and self._waiting_events and self._waiting_events + events > _WAITING_EVENTS
            if full or (accounts and self._waiting_accounts >= _WAITING_ACCOUNTS):
                raise NoRoomError
            self._waiting_events += events
            self._waiting_accounts += accounts

    def _run(self) -> None:
        try:
            while self._cycle():
                pass
        except BaseException as error:
            self.failed = error
            raise
        finally:
            self._refuse_the_rest()

    def _cycle(self) -> bool:
        """Do what waits. Returns whether to go on."""
        idle = not self._forgets and not self._scorer.pending
        # Who has just sent something is likely to send more: what is only marked waits a little.
        jobs = self._take(_IDLE if idle else _PAUSE if self._busy else 0.0)
        self._busy = bool(jobs)
        submissions = [job for job in jobs if isinstance(job, _Submission)]
        self._crowded = len(submissions) > 1
        readings = [job for job in jobs if isinstance(job, _Reading)]
        if submissions:
            self._accept(submissions, [job.account for job in readings], alone=len(jobs) == 1)
        if readings:
            self._answer(readings)
        for job in jobs:
            if isinstance(job, int):
                self._held, self._forgets = max(self._held, job), True
        with self._room:
            self._waiting_events -= sum(len(job.entry.rows) for job in submissions)
            self._waiting_accounts -= len(readings)
        self._consider_checkpoint(self._held, self._log.last)
        if self._forgets:
            self._forgets = self._log.forget(self._held, time.time() - _KEYS_KEPT)
        if self._scorer.pending and not submissions:
            self._settle(_SETTLED_WHILE_BUSY if jobs else _SETTLED_AT_ONCE)
        return None not in jobs

    def _take(self, timeout: float) -> list[_Submission | _Reading | int | None]:
        """What waits, as much as one update takes."""
        jobs: list[_Submission | _Reading | int | None] = []
        events = 0
        try:
            jobs.append(self._jobs.get(timeout=timeout) if timeout else self._jobs.get_nowait())
            until = time.monotonic() + (_GATHER if self._crowded else 0.0)
            while events < _AT_ONCE and None not in jobs:
                last = jobs[-1]
                events += len(last.entry.rows) if isinstance(last, _Submission) else 0
                left = until - time.monotonic()
                jobs.append(self._jobs.get(timeout=left) if left > 0 else self._jobs.get_nowait())
        except queue.Empty:
            pass
        return jobs

    def _accept(self, submissions: Sequence[_Submission], read: Sequence[str], *, alone: bool) -> None:
        """Put events on disk, score them and answer.

        Args:
            read: Accounts that are asked for at the same time.
            alone: Whether nothing else was taken with them.
        """
        possible = self._possible(submissions)
        try:
            numbers = self._log.accept([job.entry for job in possible])
        except StoreError as error:  # nothing of them is on disk
            logging.getLogger("gtea").error("events can't be written: %s", error)
            for job in possible:
                job.answer.set_exception(error)
            return
        rows = [
            row
            for job, accepted in zip(possible, numbers, strict=True)
            if isinstance(accepted, Accepted) and not accepted.repeated
            for row in job.entry.rows
        ]
        before = self.published.standing
        most = PER_UPDATE if alone and self._jobs.empty() else _MOST_WHILE_BUSY
        changes = [self._update(rows[first : first + _AT_ONCE], most, read) for first in range(0, len(rows), _AT_ONCE)]
        self._show(changes)
        for job, accepted in zip(possible, numbers, strict=True):
            if isinstance(accepted, OtherBodyError):
                job.answer.set_exception(accepted)
            else:
                receipt = Receipt.of(accepted, job.entry.rows, before, self.published, len(rows))
                job.answer.set_result(receipt)

    def _possible(self, submissions: Sequence[_Submission]) -> list[_Submission]:
        """Those whose events go together with the others', such as times in units of 64 bits."""
        try:
            self._scorer.checked([row for job in submissions for row in job.entry.rows])
            return list(submissions)
        except DataError:
            found, rows = list[_Submission](), list[EventRow]()
            for job in submissions:
                try:
                    self._scorer.checked([*rows, *job.entry.rows])
                except DataError as error:
                    job.answer.set_exception(error)
                else:
                    found.append(job)
                    rows += job.entry.rows
            return found

    def _update(self, rows: Sequence[EventRow], most: int, read: Sequence[str]) -> Changes:
        changes = self._scorer.update_records(rows, most=most, also=read, in_turn=_SETTLED_WHILE_BUSY)
        self._applied += len(rows)
        return changes

    def _answer(self, readings: Sequence[_Reading]) -> None:
        """Compute the accounts that are asked for and only marked, together."""
        standing = self.published.standing
        wanted = {job.account: standing.find(job.account) for job in readings}
        marked = [account for account, node in wanted.items() if node >= 0 and standing.marked[node]]
        if marked:
            self._scorer.score(marked)
            self._show([])
        for job in readings:
            job.answer.set_result(self.published)

    def _settle(self, most: int) -> None:
        self._show([self._scorer.settle(most)])

    def _show(self, changes: Sequence[Changes]) -> None:
        """Publish how everybody stands now."""
        self.published = Published(self._applied, self._scorer.standing())
        self._publish(self.published, ChangedScore.joined(changes))

    def _refuse_the_rest(self) -> None:
        """Nobody waits for an answer that will not come."""
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            if isinstance(job, _Submission | _Reading):
                job.answer.set_exception(NoRoomError())


def held_by(store: Store, log: EventLog) -> int:
    """The number of the last event of a log that a store holds. The log goes on after it, and holds what comes next."""
    held = last_held(store.manifest.sources, log.name)
    if held > log.last:
        log.skip_to(held)
    if log.first > held + 1:
        raise StoreError(
            f"{store.path}: must hold the events of its log up to {log.first - 1:,} (got {held:,}; the log has the "
            "later ones). Restore the store that held them, or name another --log."
        )
    while log.forget(held, 0.0):
        pass
    return held
