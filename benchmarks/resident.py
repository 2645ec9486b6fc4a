"""Resident memory of this process, now and at its peak; and the peaks of its children, what they share apart."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_SECONDS_BETWEEN_LOOKS = 0.1


def resident(field: Literal["VmRSS", "VmHWM"]) -> int:
    """Resident bytes now (VmRSS) or at the peak (VmHWM). ``resource.getrusage`` would include the parent's memory."""
    return _status("self")[field]


@dataclass
class Peak:
    """The largest peaks of any process that was watched, in bytes."""

    resident: int = 0
    """All that a process has in memory, with the pages of files that it shares with others: libraries and stores."""
    private: int = 0
    """What is no page of a file: nobody else has it."""
    watching: float = 0.0
    """Processor seconds that watching took: many, where a busy machine makes a run long."""


@contextlib.contextmanager
def watched(*, children: bool) -> Iterator[Peak]:
    """Watch this process, or else its children, ten times a second while the body runs."""
    peak, ended = Peak(), threading.Event()

    def watch() -> None:
        while not ended.wait(_SECONDS_BETWEEN_LOOKS):
            for pid in _children() if children else ["self"]:
                with contextlib.suppress(OSError, KeyError):  # it has ended
                    found = _status(pid)
                    peak.private = max(peak.private, found["RssAnon"])
                    peak.resident = max(peak.resident, found["VmHWM"])
            peak.watching = time.thread_time()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        ended.set()
        thread.join()


def _children() -> list[str]:
    return [pid for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()]


def _status(pid: str) -> dict[str, int]:
    """The lines of a process's status that are numbers of kilobytes, in bytes."""
    lines = (line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if words[-1] == "kB"}
