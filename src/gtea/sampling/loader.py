"""The batches of an epoch, prefetched by background threads, in an order that depends on (seed, epoch) alone.

Threads, not processes: nearly all the work is compiled code that releases the GIL, and batches need not be copied.
There is no random state, so the number of workers does not change the batches, and a run that was killed after batch b
resumes with ``epoch(e, start=b + 1)``.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from gtea.errors import UsageError
from gtea.runtime.rng import permutation

BatchT = TypeVar("BatchT")

_SWITCH_INTERVAL = 1e-4
"""How many seconds a thread waits for the GIL before it requests a switch, while batches are prefetched."""


class Loader(Generic[BatchT]):
    """Calls ``make(items, epoch)`` for each batch of item numbers.

    Items are the examples of a task, such as labelled accounts or pairs.

        loader = Loader(lambda items, epoch: collator.batch(seeds[items], epoch), len(seeds), batch_size=128)
        for items, batch in loader.epoch(0):
            loss = criterion(model(batch), labels[items])
    """

    def __init__(
        self,
        make: Callable[[NDArray[np.int64], int], BatchT],
        num_items: int | Sequence[int],
        *,
        batch_size: int,
        seed: int = 0,
        shuffle: bool = True,
        workers: int = 1,
        prefetch: int = 4,
    ) -> None:
        """Configure the loader. Threads start with ``epoch``.

        Args:
            num_items: The number of items; or of each kind, where kinds are numbered one after the other and a batch
                holds items of one kind.
            shuffle: Use another order in every epoch.
            workers: How many threads make batches; 0 makes them in the calling thread.
            prefetch: How many batches per worker may be made in advance.
        """
        if batch_size < 1 or workers < 0 or prefetch < 1:
            raise UsageError(
                "batch_size, workers, prefetch: must be at least 1, 0 and 1 "
                f"(got {batch_size}, {workers} and {prefetch})."
            )
        self._make = make
        self._sizes = (num_items,) if isinstance(num_items, int) else tuple(num_items)
        self._batch_size = batch_size
        self._seed = seed
        self._shuffle = shuffle
        self._workers = workers
        self._prefetch = prefetch

    def __len__(self) -> int:
        """The number of batches in an epoch."""
        return sum(-(-size // self._batch_size) for size in self._sizes)

    def epoch(self, epoch: int, start: int = 0) -> Iterator[tuple[NDArray[np.int64], BatchT]]:
        """The batches of an epoch from batch ``start`` on, each with its item numbers.

        However the iteration ends (exhaustion, an exception on either side, ``close``), no thread is left running.
        """
        chunks = self._chunks(epoch, start)
        return self._make_ahead(chunks, epoch) if self._workers else ((c, self._make(c, epoch)) for c in chunks)

    def _chunks(self, epoch: int, start: int) -> list[NDArray[np.int64]]:
        num_items = sum(self._sizes)
        order = permutation(self._seed, epoch, num_items) if self._shuffle else np.arange(num_items)
        kind = np.searchsorted(np.cumsum(self._sizes), order, side="right")
        by_kind = [np.flatnonzero(kind == k) for k in range(len(self._sizes))]
        chunks = [same[i : i + self._batch_size] for same in by_kind for i in range(0, len(same), self._batch_size)]
        chunks.sort(key=lambda chunk: chunk[0])  # mixes the kinds in random order
        return [order[chunk] for chunk in chunks[start:]]

    def _make_ahead(self, chunks: list[NDArray[np.int64]], epoch: int) -> Iterator[tuple[NDArray[np.int64], BatchT]]:
        waiting: deque[tuple[NDArray[np.int64], Future[BatchT]]] = deque()
        pool = ThreadPoolExecutor(self._workers, thread_name_prefix="gtea-loader")
        switch_interval = sys.getswitchinterval()
        # A worker needs the GIL briefly after every compiled call. If it waited for the default 5 ms each time, every
        # batch would be late.
        sys.setswitchinterval(_SWITCH_INTERVAL)
        try:
            for chunk in chunks:
                waiting.append((chunk, pool.submit(self._make, chunk, epoch)))
                if len(waiting) > self._workers * self._prefetch:
                    yield _next(waiting)
            while waiting:
                yield _next(waiting)
        finally:
            # Drop the batches not yet started, and wait for those in progress: they use the store's arrays.
            pool.shutdown(wait=True, cancel_futures=True)
            sys.setswitchinterval(switch_interval)


def _next(
    waiting: deque[tuple[NDArray[np.int64], Future[BatchT]]],
) -> tuple[NDArray[np.int64], BatchT]:
    chunk, future = waiting.popleft()
    return chunk, future.result()
