"""Two never work in one folder."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from gtea.errors import UsageError
from gtea.reproduce.lock import alone


def test_the_second_waits_and_then_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "here"
    refusal = pytest.raises(UsageError, match=r"here: another gtea reproduce works on it\. Wait")
    with alone(folder, 0), refusal, alone(folder, 0.15):
        pass
    with alone(folder, 0):
        pass


def test_the_second_goes_on_when_the_first_has_ended(tmp_path: Path) -> None:
    first, order = threading.Event(), []

    def work() -> None:
        with alone(tmp_path, 0):
            first.set()
            order.append("first")
            while "waiting" not in order:
                pass
            order.append("ended")

    worker = threading.Thread(target=work)
    worker.start()
    first.wait()
    order.append("waiting")
    with alone(tmp_path, 20):
        order.append("second")
    worker.join()
    assert order == ["first", "waiting", "ended", "second"]
