"""A row per node by several threads: each node once, few nodes in the calling thread, errors are raised."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest
from numpy.typing import NDArray

from gtea.features import node_blocks
from gtea.features.node_blocks import fill_rows, node_threads

MANY = node_blocks._MANY


def square(nodes: NDArray[np.int64], rows: NDArray[np.float64]) -> None:
    rows[:, 0] += nodes
    rows[:, 1] += nodes.astype(float) ** 2


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, node_blocks._BLOCK, MANY, MANY + 1])
def test_each_row_is_filled_once(count: int, threads: int) -> None:
    nodes = np.random.default_rng(0).permutation(count)[::-1]
    rows = fill_rows(square, nodes, 2, threads)
    assert rows.tobytes() == np.stack([nodes, nodes**2], axis=1).astype(float).tobytes()


def test_few_nodes_are_the_business_of_the_calling_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    used: set[str] = set()
    fill_rows(lambda nodes, rows: used.add(threading.current_thread().name), np.arange(9), 1, node_threads(MANY - 1))
    assert used == {threading.current_thread().name}


def test_many_nodes_are_shared_by_threads() -> None:
    meet = threading.Barrier(2, timeout=60)
    fill_rows(lambda nodes, rows: meet.wait(), np.arange(MANY), 1, 2)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("gtea-nodes")]


def test_as_many_threads_as_openmp_would_use(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, wanted in (("3", 3), ("4,2", 4), ("0", 1)):
        monkeypatch.setenv("OMP_NUM_THREADS", text)
        assert node_threads(MANY) == wanted
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    for text in ("", "many"):
        monkeypatch.setenv("OMP_NUM_THREADS", text)
        assert node_threads(MANY) == cores
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert node_threads(MANY) == cores


def test_an_error_in_a_block_is_raised() -> None:
    def fail(nodes: NDArray[np.int64], rows: NDArray[np.float64]) -> None:
        if nodes[0] > 0:
            raise ValueError("block")

    with pytest.raises(ValueError, match="block"):
        fill_rows(fail, np.arange(MANY), 1, 2)
