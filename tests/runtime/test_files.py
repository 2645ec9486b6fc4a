"""Locks on folders: one process at a time."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from gtea.errors import UsageError
from gtea.runtime.files import locked


def test_the_second_waits_and_then_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "here"
    busy = UsageError("somebody else is here")
    with locked(folder, busy), pytest.raises(UsageError, match="somebody else"), locked(folder, busy, timeout=0.15):
        pass
    with locked(folder, busy):
        pass


def test_the_second_goes_on_when_the_first_has_ended(tmp_path: Path) -> None:
    first, order = threading.Event(), []

    def work() -> None:
        with locked(tmp_path, UsageError()):
            first.set()
            order.append("first")
            while "waiting" not in order:
                pass
            order.append("ended")

    worker = threading.Thread(target=work)
    worker.start()
    first.wait()
    order.append("waiting")
    with locked(tmp_path, UsageError(), timeout=20):
        order.append("second")
    worker.join()
    assert order == ["first", "waiting", "ended", "second"]
