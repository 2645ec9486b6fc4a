"""Executions in forked children: a crash, a hang or a flood of memory ends a child, never the campaign.

A child does thousands of executions, because a fork of a process with torch in it takes tens of milliseconds. When it
dies, the execution that it was told to do is to blame, and another child goes on. The parent
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

_PREPARATION = 1800.0
"""Seconds for a child to make ready: it may have to compile functions first."""
_READY = b"ready\n"

Work = Callable[[int], Outcome]
"""Does the execution with a number."""


@dataclass(frozen=True)
class Limits:
    """What a child may use."""

    seconds: float = 20.0
    """Of processor time, for one execution. Three times as much on the clock, and then once more."""
    memory: int = 3 << 30
    """Bytes of address space beyond what the parent has."""
    executions: int = 3000
    """Of one child. What leaks from one to the next must not add up."""


LIMITS = Limits()


def in_children(
    make_work: Callable[[], Work], numbers: Iterator[int], limits: Limits = LIMITS, jobs: int = 1
) -> Iterator[tuple[int, Outcome]]:
    """Do executions; yields the number and the outcome of each, in the order in which they are done.

    Args:
        make_work: Called in each child, to prepare what the parent must not: it would start threads. Takes its time.
        numbers: The numbers of the executions. A child gets the next one when it has done the last one.
        jobs: The number of children at a time.
    """
    children: list[_Child] = []
    try:
        while True:
            # One number too many would be lost, so ask for one only when somebody is free.
            while len(children) < jobs and (number := next(numbers, None)) is not None:
                children.append(_Child(make_work, limits, number))
            if not children:
                return
            for child in _with_news(children):
                outcome = child.hear()
                if outcome is None:
                    continue
                yield child.number, outcome
                number = next(numbers, None) if child.alive and child.done < limits.executions else None
                if number is None:
                    child.end()
                    children.remove(child)
                else:
                    child.order(number)
    finally:
        for child in children:
            child.end()


def _with_news(children: list[_Child]) -> list[_Child]:
    """The children that have said something, died, or exceeded their time."""
    left = min(child.deadline for child in children) - time.monotonic()
    ready, _, _ = select.select(children, [], [], max(0.0, left))
    return ready or [child for child in children if child.deadline <= time.monotonic()]


class _Child:
    def __init__(self, make_work: Callable[[], Work], limits: Limits, number: int) -> None:
        self.alive, self.done = True, 0
        self._limits = limits
        self._told = b""
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            os.close(self._orders)
            os.close(self._answers)
            _serve(make_work, limits, orders, answers)
        os.close(orders)
        os.close(answers)
        self.order(number)
        self.deadline = time.monotonic() + _PREPARATION

    def fileno(self) -> int:
        """For select."""
        return self._answers

    def order(self, number: int) -> None:
        """Let the child do an execution."""
        self.number, self._patient = number, True
        self.deadline = time.monotonic() + 3 * self._limits.seconds
        with contextlib.suppress(BrokenPipeError):
            os.write(self._orders, f"{number}\n".encode())

    def hear(self) -> Outcome | None:
        """What became of the execution: as the child says, or by its death. None if it has only begun."""
        if not select.select([self], [], [], 0)[0]:
            if self._patient:  # a machine that was stopped or overloaded gets a second chance
                self._patient = False
                self.deadline = time.monotonic() + 3 * self._limits.seconds
                return None
            return self._death(late=True)
        part = os.read(self._answers, 1 << 16)
        if not part:
            return self._death(late=False)
        self._told += part
        if not self._told.endswith(b"\n"):
            return None
        told, self._told = self._told, b""
        if told == _READY:
            self.deadline, self._patient = time.monotonic() + 3 * self._limits.seconds, True
            return None
        self.done += 1
        verdict, detail, seconds = json.loads(told.removeprefix(_READY))
        return Outcome(Verdict[verdict], detail, seconds)

    def end(self) -> None:
        """End the process, which has nothing to lose."""
        os.close(self._orders)
        os.close(self._answers)
        if self.alive:
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)

    def _death(self, *, late: bool) -> Outcome:
        if late:
            os.kill(self._process, signal.SIGKILL)
        _, status = os.waitpid(self._process, 0)
        self.alive = False
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        if late or number == signal.SIGXCPU:
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
        os.write(answers, _READY)
        with os.fdopen(orders) as stream:
            for line in stream:
                used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
                _limit(resource.RLIMIT_CPU, int(used + limits.seconds) + 1)
                outcome = _done(work, int(line))
                seconds = sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) - used
                os.write(answers, json.dumps([outcome.verdict.name, outcome.detail, seconds]).encode() + b"\n")
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
