"""The batches of an epoch, made ahead of time in background threads, in an order that (seed, epoch) alone decides.

Threads and not processes: nearly all the work is compiled code without the GIL, and batches need not be copied.
Since nothing is drawn from a state, the number of workers changes no batch, and a run that was killed after batch b
goes on with ``epoch(e, start=b + 1)``.
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

Made = TypeVar("Made")

_PATIENCE = 1e-4
"""Seconds that a thread waits for the interpreter before it asks the other to make room."""


class Loader(Generic[Made]):
    """Calls ``make(items, epoch)`` for one batch of item numbers after the other.

    Items are whatever a task counts: labelled accounts, or pairs.

        loader = Loader(lambda items, epoch: collator.batch(seeds[items], epoch), len(seeds), batch_size=128)
        for items, batch in loader.epoch(0):
            loss = criterion(model(batch), labels[items])
    """

    def __init__(
        self,
        make: Callable[[NDArray[np.int64], int], Made],
        num_items: int | Sequence[int],
        *,
        batch_size: int,
        seed: int = 0,
        shuffle: bool = True,
        workers: int = 1,
        ahead: int = 4,
    ) -> None:
        """Nothing is started yet.

        Args:
            num_items: How many there are; or of each kind, one kind after the other: then a batch holds one kind.
            shuffle: Another order in every epoch; otherwise as numbered.
            workers: How many threads make batches; 0 makes each when it is asked for.
            ahead: How many batches a worker may have waiting.
        """
        if batch_size < 1 or workers < 0 or ahead < 1:
            raise UsageError(
                f"batch_size, workers, ahead: must be at least 1, 0 and 1 (got {batch_size}, {workers} and {ahead})."
            )
        self._make = make
        self._sizes = (num_items,) if isinstance(num_items, int) else tuple(num_items)
        self._batch_size = batch_size
        self._seed = seed
        self._shuffle = shuffle
        self._workers = workers
        self._ahead = ahead

    def __len__(self) -> int:
        """How many batches an epoch has; the last may be smaller."""
        return sum(-(-size // self._batch_size) for size in self._sizes)

    def epoch(self, epoch: int, start: int = 0) -> Iterator[tuple[NDArray[np.int64], Made]]:
        """The batches of an epoch from batch ``start`` on, each with the numbers of its items.

        Whatever ends the iteration (its end, an exception on either side, ``close``), no thread is left behind.
        """
        chunks = self._chunks(epoch, start)
        return self._prefetch(chunks, epoch) if self._workers else ((c, self._make(c, epoch)) for c in chunks)

    def _chunks(self, epoch: int, start: int) -> list[NDArray[np.int64]]:
        num_items = sum(self._sizes)
        order = permutation(self._seed, epoch, num_items) if self._shuffle else np.arange(num_items)
        kind = np.searchsorted(np.cumsum(self._sizes), order, side="right")
        places = [np.flatnonzero(kind == k) for k in range(len(self._sizes))]
        chunks = [own[i : i + self._batch_size] for own in places for i in range(0, len(own), self._batch_size)]
        chunks.sort(key=lambda chunk: chunk[0])  # kinds take turns, as chance has it
        return [order[chunk] for chunk in chunks[start:]]

    def _prefetch(self, chunks: list[NDArray[np.int64]], epoch: int) -> Iterator[tuple[NDArray[np.int64], Made]]:
        waiting: deque[tuple[NDArray[np.int64], Future[Made]]] = deque()
        pool = ThreadPoolExecutor(self._workers, thread_name_prefix="gtea-loader")
        patience = sys.getswitchinterval()
        # A worker needs the interpreter for a moment after every compiled call. Waiting 5 ms for it each time, as is
        # usual, it would be late with every batch.
        sys.setswitchinterval(_PATIENCE)
        try:
            for chunk in chunks:
                waiting.append((chunk, pool.submit(self._make, chunk, epoch)))
                if len(waiting) > self._workers * self._ahead:
                    yield _finished(waiting)
            while waiting:
                yield _finished(waiting)
        finally:
            # Batches not begun are dropped, those being made are waited for: they hold the store's arrays.
            pool.shutdown(wait=True, cancel_futures=True)
            sys.setswitchinterval(patience)


def _finished(
    waiting: deque[tuple[NDArray[np.int64], Future[Made]]],
) -> tuple[NDArray[np.int64], Made]:
    chunk, future = waiting.popleft()
    return chunk, future.result()
