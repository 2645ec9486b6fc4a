from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Generator
from itertools import chain
from typing import Any, cast

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from gtea.errors import UsageError
from gtea.features.preprocessing import fit_preprocessing
from gtea.nn.batch import Batch
from gtea.sampling.collate import Collator
from gtea.sampling.loader import Loader
from gtea.store.store import Store


def names_of_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("gtea-loader")]


def items_of(loader: Loader[Any], *args: int) -> list[Any]:
    return [items.tolist() for items, _ in loader.epoch(*args)]


@pytest.fixture
def loaded(random_store: Callable[..., Store]) -> Callable[..., list[Any]]:
    """The batches of an epoch as bytes, made by a given number of workers."""
    view = random_store().as_of(150)
    preprocessing = fit_preprocessing(view, kinds=("statistics", "random"))
    seeds = np.arange(view.store.num_nodes)

    def load(workers: int, start: int = 0) -> list[Any]:
        collator = Collator(view, preprocessing, fanout=3, seed=1)
        loader = Loader(
            lambda items, epoch: collator.batch(seeds[items], epoch), len(seeds), batch_size=4, workers=workers
        )
        return [
            (items.tolist(), batch.num_within, *(tensor.numpy().tobytes() for tensor in tensors(batch)))
            for items, batch in loader.epoch(5, start)
        ]

    return load


def tensors(batch: Batch) -> tuple[torch.Tensor, ...]:
    histories = batch.histories
    return batch.node_features, batch.neighbour, batch.edge, histories.offset, histories.time, histories.features


def test_the_number_of_workers_changes_no_byte(loaded: Callable[..., list[Any]]) -> None:
    alone = loaded(0)
    assert len(alone) == 8
    assert loaded(1) == loaded(3) == alone


def test_a_resumed_epoch_goes_on_where_it_was(loaded: Callable[..., list[Any]]) -> None:
    assert loaded(2, start=3) == loaded(0)[3:]
    assert loaded(1, start=8) == []


def test_a_batch_holds_items_of_one_kind_and_kinds_take_turns() -> None:
    loader = Loader(lambda items, epoch: None, (10, 0, 25, 7), batch_size=4, seed=1)
    chunks = items_of(loader, 2)
    assert len(chunks) == len(loader) == 3 + 7 + 2
    assert sorted(chain.from_iterable(chunks)) == list(range(42))
    kinds = [{int(np.searchsorted([10, 35], item, side="right")) for item in chunk} for chunk in chunks]
    assert all(len(kind) == 1 for kind in kinds)
    assert [min(kind) for kind in kinds] != sorted(min(kind) for kind in kinds)
    assert items_of(loader, 2, 5) == chunks[5:]
    assert items_of(loader, 3) != chunks


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_every_item_once_in_an_order_of_the_epoch(workers: int) -> None:
    loader = Loader(lambda items, epoch: None, 10, batch_size=4, workers=workers)
    assert len(loader) == 3
    first, second = items_of(loader, 0), items_of(loader, 1)
    assert [len(items) for items in first] == [4, 4, 2]
    assert sorted(chain(*first)) == sorted(chain(*second)) == list(range(10))
    assert first != second
    assert items_of(loader, 0) == first
    assert items_of(Loader(lambda items, epoch: None, 10, batch_size=4, seed=9), 0) != first


def test_without_shuffling_items_come_as_numbered() -> None:
    loader = Loader(lambda items, epoch: None, 5, batch_size=2, shuffle=False)
    assert items_of(loader, 7) == [[0, 1], [2, 3], [4]]


def test_nothing_to_load() -> None:
    loader = Loader(lambda items, epoch: None, 0, batch_size=2)
    assert (len(loader), items_of(loader, 0)) == (0, [])


def test_batches_are_made_ahead_but_not_all() -> None:
    made: list[Any] = []
    loader = Loader(lambda items, epoch: made.append(items), 100, batch_size=1, workers=2, prefetch=3)
    batches = cast(Generator[Any], loader.epoch(0))
    next(batches)
    deadline = time.monotonic() + 10
    while len(made) < 7 and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(0.02)
    assert len(made) == 7
    batches.close()
    assert names_of_threads() == []


def test_an_error_in_a_worker_reaches_the_caller_in_its_turn() -> None:
    def make(items: NDArray[np.int64], epoch: int) -> NDArray[np.int64]:
        if 6 in items:
            raise ValueError("batch of item 6")
        return items

    loader = Loader(make, 20, batch_size=2, shuffle=False, workers=2)
    seen: list[list[int]] = []
    batches = loader.epoch(0)
    with pytest.raises(ValueError, match="batch of item 6"):
        seen.extend(items.tolist() for items, _ in batches)
    assert seen == [[0, 1], [2, 3], [4, 5]]
    assert names_of_threads() == []


def test_an_error_in_the_loop_leaves_no_thread_behind() -> None:
    loader = Loader(lambda items, epoch: torch.zeros(1), 20, batch_size=2, workers=2)

    def train() -> None:
        for _ in loader.epoch(0):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train()
    # The failed frame, and with it the iterator, lives as long as its traceback; a new look comes after.
    deadline = time.monotonic() + 10
    while names_of_threads() and time.monotonic() < deadline:
        time.sleep(0.001)
    assert names_of_threads() == []


@pytest.mark.parametrize(
    "settings", [{"batch_size": 0}, {"batch_size": 1, "workers": -1}, {"batch_size": 1, "prefetch": 0}]
)
def test_settings_that_cannot_be(settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="batch_size, workers, prefetch: must be at least 1, 0 and 1"):
        Loader(lambda items, epoch: None, 5, **settings)


def test_the_interpreters_patience_is_given_back() -> None:
    before = sys.getswitchinterval()
    loader = Loader(lambda items, epoch: sys.getswitchinterval(), 40, batch_size=2, workers=1)
    batches = cast(Generator[Any], loader.epoch(0))
    assert next(batches)[1] < before
    batches.close()
    assert sys.getswitchinterval() == before
    for _ in loader.epoch(1):
        pass
    assert sys.getswitchinterval() == before
