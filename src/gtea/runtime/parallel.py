"""Process the parts of a graph in parallel threads, one part per thread.

By default torch splits each operation among its threads and synchronises them after every operation. With many
independent parts it is faster to give each thread a part of its own. How many threads share a product may decide its
last bit. So a part is always computed by one thread, even if it is the only one, and its bytes don't depend on the
number of threads.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TypeVar

import torch
from threadpoolctl import threadpool_limits

Item = TypeVar("Item")
Result = TypeVar("Result")


def parallel_map(work: Callable[[Item], Result], items: Sequence[Item], device: torch.device) -> Iterator[Result]:
    """``map(work, items)`` with as many threads as torch may use. On a GPU, parts are processed one at a time.

    During the iteration, torch operations use one thread each in the whole process. When the iteration ends, normally
    or by an exception, all threads are joined and torch's number of threads is restored.
    """
    if device.type != "cpu":
        yield from map(work, items)
        return
    num_threads = min(torch.get_num_threads(), len(items))
    if num_threads <= 1:
        for item in items:
            # Only while the part is computed: between two parts the caller has its threads back.
            with one_thread():
                result = work(item)
            yield result
        return
    with one_thread():
        pool = ThreadPoolExecutor(num_threads, "gtea-part", initializer=torch.set_num_threads, initargs=(1,))
        try:
            yield from pool.map(work, items)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def one_thread() -> AbstractContextManager[None]:
    """Let each operation of torch use one thread while the body runs."""
    return torch_threads(1)


@contextlib.contextmanager
def one_thread_in_every_library() -> Iterator[None]:
    """Let torch, scikit-learn and linear algebra use one thread while the body runs.

    A sum that is split among threads has other last bits with another number of them. Environment variables can't do
    it: they are read when a library is loaded.
    """
    with torch_threads(1), threadpool_limits(1):
        yield


@contextlib.contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let each operation of torch use that many threads while the body runs."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
