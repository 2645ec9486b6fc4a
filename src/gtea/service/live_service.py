"""The service without HTTP: model, store, log and writer, from the first start to a clean end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import torch

from gtea.errors import GteaError, UsageError
from gtea.live.live_scorer import LiveScorer
from gtea.runtime.disk_errors import system_error
from gtea.runtime.files import locked
from gtea.scoring.edge_cache import model_digest
from gtea.scoring.scorer import NodeModel
from gtea.service.case_desk import CaseDesk
from gtea.service.case_request import ServedPlaces
from gtea.service.change_feed import ChangeFeed
from gtea.service.event_log import EventLog
from gtea.service.live_writer import LiveWriter, held_by
from gtea.service.log_checkpoints import CheckpointPlan, Checkpoints
from gtea.service.problem import busy
from gtea.service.published import ChangedScore, Published
from gtea.service.warm_up import warm_up
from gtea.store.schema import Schema
from gtea.store.store import Store

_DYING = 10.0


@dataclass(frozen=True)
class ServedFiles:
    """What is served, and where the log is."""

    model: Path
    store: Path
    log: Path
    checkpoints: CheckpointPlan = field(default_factory=CheckpointPlan)


class LiveService:
    """Scores of one store by one model, while events arrive."""

    def __init__(self, files: ServedFiles) -> None:
        self.files = files
        self.feed = ChangeFeed()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opened: OpenedService | None = None
        self._stopping = threading.Event()
        self.state = "starting"
        """What it is doing, in words."""
        self.error: BaseException | None = None
        """Why it can't go on."""

    @property
    def opened(self) -> OpenedService:
        """What answers requests. Until all accounts are scored there is nothing to answer with."""
        if self._opened is None or not self._opened.writer.alive:
            raise busy(f"The service is not ready: {self.state}. Try again.")
        return self._opened

    @property
    def ready(self) -> bool:
        """Whether requests can be answered."""
        return self._opened is not None and self._opened.writer.alive

    async def run(self, failed: Callable[[], None]) -> None:
        """Open everything, off the event loop. ``failed`` is called if it can't be, or if the writer ends."""
        self._loop = asyncio.get_running_loop()
        try:
            await asyncio.to_thread(self._open)
            while not self._stopping.is_set() and self.ready:
                await asyncio.sleep(0.2)
        except BaseException as error:
            self.error = error
        if not self._stopping.is_set():
            assert self._opened is not None or self.error is not None
            self.error = self.error or (self._opened.writer.failed if self._opened else None)
            self.state = "it has failed"
            failed()

    def stop(self) -> None:
        """End after what waits has been done."""
        self._stopping.set()
        self.feed.close()
        if self._opened is not None:
            self._opened.close()

    def _open(self) -> None:
        # Accounts are scored in one thread: the event loop keeps the other core.
        torch.set_num_threads(1)
        stack = contextlib.ExitStack()
        try:
            self._opened = self._opened_service(stack)
        except BaseException as error:
            stack.close()
            if isinstance(error, GteaError) or not isinstance(error, Exception):
                raise
            raise system_error(error) or error from error
        self.state = "ready"
        self._opened.writer.start()

    def _opened_service(self, stack: contextlib.ExitStack) -> OpenedService:
        files = self.files
        store = Store.open(files.store)
        busy_error = UsageError(f"{files.log}: another gtea serve writes to this log. Stop it, or name another --log.")
        # One that was killed is not gone at once.
        stack.enter_context(locked(files.log, busy_error, timeout=_DYING))
        files.log.chmod(0o700)
        log = EventLog(files.log, Schema.from_json(store.manifest.schema))
        held = held_by(store, log)
        model = NodeModel.open(files.model, torch.device("cpu"))
        self.state = "compiling"
        warm_up(model, store)
        self.state = f"scoring {store.num_nodes:,} accounts"
        scorer = LiveScorer(model, store)
        checkpoints = Checkpoints(files.store, files.log, files.checkpoints, self._folded)
        writer = LiveWriter(scorer, log, held, self._publish, checkpoints.consider)
        self.state = f"scoring {log.last - held:,} events of the log"
        writer.replay()
        places = ServedPlaces.of(files.model, model_digest(model.saved), files.store, files.log)
        return OpenedService(model, store, scorer, writer, checkpoints, places, stack)

    def _folded(self, held: int) -> None:
        if self._opened is not None:
            self._opened.writer.folded(held)

    def _publish(self, published: Published, changes: Sequence[ChangedScore]) -> None:
        """Tell the readers of the stream. Called in the writer's thread."""
        if self._loop is not None and not self._stopping.is_set():
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self.feed.publish, published, changes)


@dataclass(frozen=True)
class OpenedService:
    """What answers requests."""

    model: NodeModel
    store: Store
    scorer: LiveScorer
    writer: LiveWriter
    checkpoints: Checkpoints
    places: ServedPlaces
    _stack: contextlib.ExitStack

    @cached_property
    def cases(self) -> CaseDesk:
        """Who explains scores."""
        return CaseDesk(self.places, self.checkpoints, self.exact)

    @property
    def published(self) -> Published:
        """What readers see now. Ask once for each request: it is replaced as a whole."""
        return self.writer.published

    async def exact(self, account: str) -> Published:
        """What readers see, with the score of one account computed if it is only marked."""
        published = self.published
        node = published.standing.find(account)
        if node < 0 or not published.standing.marked[node]:
            return published
        return await asyncio.wrap_future(self.writer.read(account))

    def close(self) -> None:
        """End the writer, and free the log for others."""
        self.cases.close()
        self.writer.stop()
        self._stack.close()
        logging.getLogger("gtea").info("the log holds events up to %d", self.published.number)
