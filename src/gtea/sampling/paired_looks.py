"""Looks sorted by edge: what both ends of an edge see can be read and encoded together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtea.runtime.jit import jit


class PairedLooks(NamedTuple):
    """Of each edge that is looked at, where its looks stand among some looks."""

    edge: NDArray[np.int64]
    """Numbers of edges in the store, in order."""
    here: NDArray[np.int64]
    there: NDArray[np.int64]
    """-1 where only one end looks: the other was not asked, or is the same."""


def pair_looks(edge: NDArray[np.int64], num_edges: int) -> PairedLooks:
    """The looks at each edge. Costs as much as there are edges in the store.

    Args:
        edge: Of each look its edge's number; none appears more than twice.
    """
    here, there = _looks_by_edge(edge, num_edges)
    found = np.flatnonzero(here >= 0)
    return PairedLooks(found, here[found], there[found])


@jit
def _looks_by_edge(edge: NDArray[np.int64], num_edges: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    here, there = np.full(num_edges, -1, dtype=np.int64), np.full(num_edges, -1, dtype=np.int64)
    for look in range(len(edge)):
        if here[edge[look]] < 0:
            here[edge[look]] = look
        else:
            there[edge[look]] = look
    return here, there
