"""What another process is at work on is left for later, and waited for once nothing else is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from gtea.runtime.files import BusyError, locked
from gtea.runtime.when_free import when_free


def test_what_is_busy_comes_last() -> None:
    asked: list[int] = []

    def work(item: int) -> int:
        asked.append(item)
        if item == 1 and asked.count(1) < 2:
            raise BusyError("1: somebody else is there.")
        return item * 10

    assert list(when_free(work, [1, 2, 3])) == [(2, 20), (3, 30), (1, 10)]
    assert asked == [1, 2, 3, 1]


def test_it_says_so_once_if_it_waits(tmp_path: Path) -> None:
    asked = 0

    def work(item: Path) -> None:
        nonlocal asked
        asked += 1
        if asked < 3:
            with locked(item, BusyError("x")), locked(item, BusyError("another gtea process is training there.")):
                raise AssertionError

    with pytest.warns(UserWarning, match=r"waiting \(another gtea process is training there.\)") as told:
        assert [item for item, _ in when_free(work, [tmp_path])] == [tmp_path]
    assert len(told) == 1


def test_other_errors_end_it() -> None:
    with pytest.raises(ZeroDivisionError):
        list(when_free(lambda item: 1 // item, [1, 0, 2]))
