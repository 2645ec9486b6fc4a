"""Where the rows of neighbours are, for features of a part of the accounts that read something of their neighbours.

Of all accounts there may be more than one machine can hold a row of each. A part holds the rows of its accounts'
neighbours alone, in the order of their numbers, and for each of its slots the row of the neighbour.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gtea.store.view import View


@dataclass(frozen=True)
class NeighbourRows:
    """The neighbours of a range of accounts."""

    nodes: NDArray[np.int64]
    """Their node numbers, ascending. Row i of any table is about ``nodes[i]``."""
    row: NDArray[np.int32]
    """For each slot of the range the row of its neighbour. Meaningless for slots without an event before the cut."""
    first_slot: int
    """The first slot of the range."""

    @staticmethod
    def of(view: View, accounts: range) -> NeighbourRows:
        """Those of the accounts of a range."""
        arrays = view.arrays
        first, last = int(arrays.node_offset[accounts.start]), int(arrays.node_offset[accounts.stop])
        neighbour = np.array(arrays.slot_neighbour[first:last])
        nodes = np.unique(neighbour[np.asarray(arrays.slot_first_time[first:last]) < view.cut])
        row = np.searchsorted(nodes, neighbour).astype(np.int32)
        row.flags.writeable = False  # as if mapped: compiled code is compiled anew for arrays that can be written
        return NeighbourRows(nodes.astype(np.int64), row, first)
