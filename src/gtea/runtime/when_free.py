"""Work on one thing after the other, and on those that another process is at work on when it has let go of them."""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from gtea.runtime.files import BusyError

Item = TypeVar("Item")
Result = TypeVar("Result")

_SECONDS_BETWEEN_LOOKS = 0.5


def when_free(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[tuple[Item, Result]]:
    """Each item with ``work(item)``, in order but for items with which it raises BusyError: they are tried again later.

    So several commands can share the work. Once nothing else is left, it waits, and warns of that.
    """
    waiting, in_a_row, warned = deque(items), 0, False
    while waiting:
        item = waiting.popleft()
        try:
            result = work(item)
        except BusyError as error:
            waiting.append(item)
            in_a_row += 1
            if in_a_row >= len(waiting):
                if not warned:
                    warnings.warn(f"waiting ({error})", stacklevel=2)
                warned = True
                time.sleep(_SECONDS_BETWEEN_LOOKS)
            continue
        in_a_row = 0
        yield item, result
