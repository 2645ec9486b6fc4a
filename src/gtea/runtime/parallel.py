"""Process the parts of a graph in parallel threads, one part per thread.

By default torch splits each operation among its threads and synchronises them after every operation. With many
independent parts it is faster to give each thread a part of its own. The result of a part doesn't depend on the number
of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


def parallel_map(work: Callable[[Item], Result], items: Sequence[Item], device: torch.device) -> Iterator[Result]:
    """``map(work, items)`` with as many threads as torch may use. On a GPU, parts are processed one at a time.

    During the iteration, torch operations use one thread each in the whole process. When the iteration ends, normally
    or by an exception, all threads are joined and torch's number of threads is restored.
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
