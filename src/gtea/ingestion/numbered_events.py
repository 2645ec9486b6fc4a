"""Events of a log that goes on, numbered one by one: a store takes each of them once, whatever is delivered again.

The store's manifest names the events that it holds of a log, in the same write that adds them. So a writer that was
killed, or that does not know whether an append before it was finished, delivers again from where it likes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from gtea.errors import DataError


@dataclass(frozen=True)
class NumberedEvents:
    """Some events of a log, in order."""

    log: str
    """What tells this log from others: a random name."""
    first: int
    """The number of the first row."""
    frame: pa.Table
    """One row for each number, with the columns of the store."""

    @property
    def last(self) -> int:
        """The number of the last row."""
        return self.first + len(self.frame) - 1

    def described(self) -> dict[str, Any]:
        """For the manifest of the store that has them."""
        return {"name": f"log {self.log}", "log": self.log, "first": self.first, "last": self.last}

    def not_held(self, sources: Sequence[Mapping[str, Any]]) -> NumberedEvents | None:
        """Those that a store with these sources does not have; None if it has all of them."""
        held = last_held(sources, self.log)
        if self.first > held + 1:
            raise DataError(
                f"log {self.log}: must go on at event {held + 1:,}, after the last one that the store holds "
                f"(got {self.first:,}). Restore the store that held those between."
            )
        if self.last <= held:
            return None
        return NumberedEvents(self.log, held + 1, self.frame.slice(held + 1 - self.first))


def last_held(sources: Sequence[Mapping[str, Any]], log: str) -> int:
    """The number of the last event that a store with these sources holds of a log; 0 if it holds none."""
    return max((int(source["last"]) for source in sources if source.get("log") == log), default=0)
