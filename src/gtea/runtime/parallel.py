"""Parts of a graph worked on by several threads at once, each part by one of them.

Torch's own way is to share each operation out among its threads, which then wait for one another after every one of
them; where there are many parts to do, it is quicker to let each thread have a part of its own. What a part gives does
not depend on who else is at work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Item = TypeVar("Item")
Made = TypeVar("Made")


def parallel_map(work: Callable[[Item], Made], items: Sequence[Item], device: torch.device) -> Iterator[Made]:
    """``map(work, items)`` by as many threads as torch may use. A GPU works on one part at a time.

    While they are at work, torch's operations have one thread each, in this process as a whole. Whatever ends the
    iteration, no thread is left behind, and torch has its threads back.
    """
    num_threads = torch.get_num_threads()
    if device.type != "cpu" or num_threads == 1 or len(items) < num_threads:
        yield from map(work, items)
        return
    pool = ThreadPoolExecutor(num_threads, "gtea-part", initializer=torch.set_num_threads, initargs=(1,))
    try:
        yield from pool.map(work, items)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        torch.set_num_threads(num_threads)
