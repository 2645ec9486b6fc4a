"""Compute a row per node with all cores: blocks of nodes in parallel threads.

A row depends on its node alone, so neither the blocks nor the threads change a byte. Few nodes are computed in the
calling thread: batches are small, and the threads that build them are parallel already.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

Fill = Callable[[NDArray[np.int64], NDArray[np.float64]], object]
"""Fills the rows of some nodes, which are zero before. Compiled, so that it releases the GIL."""

_BLOCK = 1 << 14
_MANY = 2 * _BLOCK
"""Exact scoring asks for ``_BLOCK`` nodes at a time in each of its own threads, and must not start more."""


def node_threads(num_nodes: int) -> int:
    """How many threads to use for this number of nodes: OMP_NUM_THREADS, by default one per core, or one if few."""
    if num_nodes < _MANY:
        return 1
    wanted = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return max(1, int(wanted)) if wanted.isdecimal() else _cores()


def fill_rows(fill: Fill, nodes: NDArray[np.integer[Any]], width: int, threads: int) -> NDArray[np.float64]:
    """Return one row of the given width per node, filled in blocks by this many threads."""
    numbers, rows = np.ascontiguousarray(nodes, dtype=np.int64), np.zeros((len(nodes), width))
    if threads == 1:
        fill(numbers, rows)
        return rows
    blocks = [slice(first, first + _BLOCK) for first in range(0, len(nodes), _BLOCK)]
    with ThreadPoolExecutor(threads, "gtea-nodes") as pool:
        # Listed, so that an exception in a block is raised here.
        list(pool.map(lambda block: fill(numbers[block], rows[block]), blocks))
    return rows


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
