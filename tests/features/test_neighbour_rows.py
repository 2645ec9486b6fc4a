"""Rows of neighbours: each slot finds the row of its neighbour, and nothing of the future is a neighbour."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gtea.features.neighbour_rows import NeighbourRows
from gtea.store.store import Store


def test_slots_find_their_neighbours(random_store: Callable[..., Store]) -> None:
    view = random_store(0).as_of(120)
    accounts = range(3, 9)
    found = NeighbourRows.of(view, accounts)
    expected = {int(other) for node in accounts for other in view.neighbours(node).nodes}
    assert found.nodes.tolist() == sorted(expected)
    start, stop = view.slot_ranges(np.arange(accounts.start, accounts.stop))
    for first, last in zip(start, stop, strict=True):
        for slot in range(first, last):
            assert found.nodes[found.row[slot - found.first_slot]] == view.arrays.slot_neighbour[slot]
