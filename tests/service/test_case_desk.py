from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.live.streams import Row, frame_of
from tests.service.conftest import Made
from tests.service.test_case_worker import logged, places

from gtea.live.live_scorer import LiveScorer
from gtea.service.case_desk import CaseDesk, TooLongError
from gtea.service.live_writer import NoRoomError
from gtea.service.log_checkpoints import CheckpointPlan, Checkpoints
from gtea.service.published import Published
from gtea.store.store import Store

Exact = Callable[[str], Awaitable[Published]]


class Growing:
    """A log and a scorer of the same events."""

    def __init__(self, made: Made, number: int = 0) -> None:
        self._made, self._number = made, number
        self._scorer = LiveScorer(made.model, Store.open(made.folder / "store"), allow_any_date=True)

    def add(self, row: Row) -> None:
        logged(self._made, [row]).close()
        self._scorer.update(frame_of([row]))
        self._number += 1

    async def exact(self, account: str) -> Published:
        self._scorer.score([account])
        return Published(self._number, self._scorer.standing())


def desk(made: Made, exact: Exact, **options: Any) -> CaseDesk:
    checkpoints = Checkpoints(made.folder / "store", made.folder / "log", CheckpointPlan(), lambda held: None)
    return CaseDesk(places(made), checkpoints, exact, **options)


@pytest.mark.slow
def test_a_store_serves_until_a_score_has_changed(made: Made, tmp_path: Path) -> None:
    here = made.copied(tmp_path)
    growing = Growing(here)
    growing.add(("b", "d", 131, 3.0, "card"))
    tried = desk(here, growing.exact, used_for=1e9)

    async def run() -> None:
        first = await tried.reasons("b", 2)
        assert first.as_of.number == 1
        assert len(first.answer["counterparties"]) == 2
        growing.add(("far", "away", 140, 3.0, "card"))
        assert (await tried.page("b")).as_of.number == 1
        assert (await tried.page("far")).as_of.number == 2
        growing.add(("b", "d", 150, 90.0, "card"))
        again = await tried.page("b")
        assert again.as_of.number == 3
        assert "as of event 3<" in again.answer["page"]

    try:
        asyncio.run(run())
    finally:
        tried.close()


def test_what_takes_too_long_is_ended(made: Made, tmp_path: Path) -> None:
    here = made.copied(tmp_path)
    logged(here, []).close()
    tried = desk(here, Growing(here).exact, limits=(0.01, 0.01))

    async def run() -> None:
        for _ in range(2):
            with pytest.raises(TooLongError):
                await tried.page("b")

    asyncio.run(run())
    tried.close()


def test_so_many_may_wait(made: Made, tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def never(account: str) -> Published:
        begun.set()
        await asyncio.sleep(3600)
        raise AssertionError

    tried = desk(made, never)

    async def run() -> None:
        waiting = [asyncio.create_task(tried.page("b")) for _ in range(8)]
        await begun.wait()
        with pytest.raises(NoRoomError):
            await tried.page("b")
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(run())


def test_a_closed_desk_starts_no_process(made: Made, tmp_path: Path) -> None:
    here = made.copied(tmp_path)
    logged(here, []).close()
    tried = desk(here, Growing(here).exact)
    tried.close()
    with pytest.raises(NoRoomError):
        asyncio.run(tried.page("b"))
