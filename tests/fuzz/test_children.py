"""Whatever an execution does to its process, the campaign sees it and goes on."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import pytest
from tests.fuzz.children import Limits, Work, in_children
from tests.fuzz.execution import Outcome, Verdict

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def use_processor() -> None:
    while True:
        pass


def fill_memory() -> None:
    try:
        bytearray(2 << 30)
    except MemoryError:
        os.kill(os.getpid(), signal.SIGUSR1)


DEEDS: dict[int, Callable[[], object]] = {
    1: lambda: os.kill(os.getpid(), signal.SIGSEGV),
    3: use_processor,
    4: lambda: time.sleep(60),
    5: fill_memory,
    7: lambda: os._exit(3),
    9: lambda: 1 // 0,
}


def make_work() -> Work:
    def work(number: int) -> Outcome:
        if number in DEEDS:
            DEEDS[number]()
        return Outcome(Verdict.REFUSED, f"number {number}")

    return work


def test_a_child_that_dies_or_hangs_is_replaced() -> None:
    done = dict(in_children(make_work, iter(range(10)), Limits(seconds=1, memory=1 << 30)))
    refused = {number: Outcome(Verdict.REFUSED, f"number {number}") for number in (0, 2, 6, 8)}
    assert done == refused | {
        1: Outcome(Verdict.SIGNAL, "SIGSEGV"),
        3: Outcome(Verdict.HANG, "more than 1 s"),
        4: Outcome(Verdict.HANG, "more than 1 s"),
        5: Outcome(Verdict.SIGNAL, "SIGUSR1"),
        7: Outcome(Verdict.SIGNAL, "exit status 3"),
        9: Outcome(Verdict.UNCAUGHT, "ZeroDivisionError (in preparation): integer division or modulo by zero"),
    }


def test_a_child_does_so_many_executions_at_most() -> None:
    def work(number: int) -> Outcome:
        return Outcome(Verdict.SAME, str(os.getpid()))

    done = [outcome.detail for _, outcome in in_children(lambda: work, iter(range(7)), Limits(executions=3))]
    assert [len(set(done[start : start + 3])) for start in (0, 3, 6)] == [1, 1, 1]
    assert len(set(done)) == 3
