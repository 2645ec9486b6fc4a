"""Executions in forked children: a crash, a hang or a flood of memory ends a child, never the campaign.

A child does thousands of executions, because a fork of a process with torch in it takes tens of milliseconds. When it
dies, the execution that it had announced is to blame, and the next child starts with the one after it. The parent
never starts a thread: a child would inherit its locks.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import resource
import select
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tests.fuzz.execution import Outcome, Verdict

Work = Callable[[int], Outcome]
"""Does the execution with a number."""


@dataclass(frozen=True)
class Limits:
    """What a child may use."""

    seconds: float = 20.0
    """Of processor time, for one execution. Three times as much on the clock."""
    memory: int = 3 << 30
    """Bytes of address space beyond what the parent has."""
    executions: int = 3000
    """Of one child. What leaks from one to the next must not add up."""


LIMITS = Limits()


def in_children(
    make_work: Callable[[], Work], numbers: Iterator[int], limits: Limits = LIMITS
) -> Iterator[tuple[int, Outcome]]:
    """Do executions, one child at a time; yields the number and the outcome of each.

    Args:
        make_work: Called in each child, to prepare what the parent must not: it would start threads.
        numbers: The numbers of the executions. A child gets the next one when it has done the last one.
    """
    number = next(numbers, None)
    while number is not None:
        child = _Child(make_work, limits)
        try:
            for _ in range(limits.executions):
                yield number, child.do(number)
                number = next(numbers, None)
                if number is None or not child.alive:
                    break
        finally:
            child.end()


class _Child:
    def __init__(self, make_work: Callable[[], Work], limits: Limits) -> None:
        self.alive = True
        self._limits = limits
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            os.close(self._orders)
            os.close(self._answers)
            _serve(make_work, limits, orders, answers)
        os.close(orders)
        os.close(answers)

    def do(self, number: int) -> Outcome:
        """Let the child do an execution, and wait for what it says or for its death."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._orders, f"{number}\n".encode())
        deadline = time.monotonic() + 3 * self._limits.seconds
        told = b""
        while not told.endswith(b"\n"):
            ready, _, _ = select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))
            part = os.read(self._answers, 1 << 16) if ready else b""
            if not part:
                return self._death(hangs=not ready)
            told += part
        verdict, detail = json.loads(told)
        return Outcome(Verdict[verdict], detail)

    def end(self) -> None:
        """Close the pipes. Without orders, the child ends."""
        os.close(self._orders)
        os.close(self._answers)
        if self.alive:
            os.waitpid(self._process, 0)

    def _death(self, *, hangs: bool) -> Outcome:
        if hangs:
            os.kill(self._process, signal.SIGKILL)
        _, status = os.waitpid(self._process, 0)
        self.alive = False
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        if hangs or number == signal.SIGXCPU:
            return Outcome(Verdict.HANG, f"more than {self._limits.seconds:g} s")
        name = signal.Signals(number).name if number else f"exit status {os.waitstatus_to_exitcode(status)}"
        return Outcome(Verdict.SIGNAL, name)


def _serve(make_work: Callable[[], Work], limits: Limits, orders: int, answers: int) -> NoReturn:
    """The child's life: it ends without cleaning up, as nothing of the parent is its own."""
    status = 1
    try:
        _be_quiet()
        _limit(resource.RLIMIT_AS, _address_space() + limits.memory)
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_FSIZE, 1 << 30)
        work = make_work()
        with os.fdopen(orders) as stream:
            for line in stream:
                used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
                _limit(resource.RLIMIT_CPU, int(used + limits.seconds) + 1)
                outcome = _done(work, int(line))
                os.write(answers, json.dumps([outcome.verdict.name, outcome.detail]).encode() + b"\n")
        status = 0
    finally:
        os._exit(status)


def _done(work: Work, number: int) -> Outcome:
    try:
        return work(number)
    except Exception as error:  # even the original input could not be used
        return Outcome(Verdict.UNCAUGHT, f"{type(error).__name__} (in preparation): {error}")


def _limit(kind: int, soft: int) -> None:
    resource.setrlimit(kind, (soft, resource.getrlimit(kind)[1]))


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def _be_quiet() -> None:
    """Print nothing, warn of nothing, and leave signals to the kernel."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    faulthandler.disable()
    warnings.simplefilter("ignore")
