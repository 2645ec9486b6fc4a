"""Attended slots in the file of a task: all runs one after the other, and the edge embeddings of each run alone.

Neighbours are named by rows of a table: that of the accounts which the runs and their targets read. So a layer reads a
run's embeddings when it comes to them, into memory that fits into the processor's cache, and looks nobody up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from gtea.cluster.part_files import Arrays, PartFile
from gtea.nn.batch import Slots
from gtea.nn.full_graph import AttendedRun


def arrays_of(runs: Sequence[AttendedRun], rows: NDArray[np.int64]) -> Arrays:
    """The arrays of runs whose neighbours are named by their numbers in the store.

    Args:
        rows: The accounts of the table, in ascending order.
    """
    empty = np.empty(0, dtype=np.int32)
    return {
        "targets": np.array([[run.targets.start, run.targets.stop] for run in runs], dtype=np.int64).reshape(-1, 2),
        "ends": np.cumsum([len(run.e_tilde) for run in runs], dtype=np.int64),
        "target": [run.slots.target.numpy().astype(np.int32) for run in runs] or empty,
        "neighbour": [_places(rows, run.slots.neighbour.numpy()) for run in runs] or empty,
        "alpha": [run.slots.alpha.numpy() for run in runs] or np.empty(0, dtype=np.float32),
        **{_e_tilde(number): run.e_tilde.numpy() for number, run in enumerate(runs)},
    }


def neighbours_of(runs: Sequence[AttendedRun]) -> NDArray[np.int64]:
    """The distinct accounts that runs read, in ascending order."""
    if not runs:
        return np.empty(0, dtype=np.int64)
    # Not numpy.unique, which hashes: sorting whole numbers takes a fortieth of its time.
    found = np.sort(np.concatenate([run.slots.neighbour.numpy() for run in runs]))
    return found[np.concatenate([[True], found[1:] != found[:-1]])] if len(found) else found


class StoredRuns:
    """The runs in a file."""

    def __init__(self, file: PartFile) -> None:
        self._file = file
        self._targets, self._ends = file.read("targets"), file.read("ends")
        self._target, self._neighbour, self._alpha = (file.read(name) for name in ("target", "neighbour", "alpha"))

    def __len__(self) -> int:
        return len(self._targets)

    def read(self, number: int) -> AttendedRun:
        """A run with its edge embeddings, which are read now. Its neighbours are rows of the table."""
        first, end = int(self._ends[number - 1]) if number else 0, int(self._ends[number])
        target, neighbour = (
            torch.from_numpy(each[first:end].astype(np.int64)) for each in (self._target, self._neighbour)
        )
        alpha, e_tilde = self._alpha[first:end], torch.from_numpy(self._file.read(_e_tilde(number)))
        slots = Slots(target, neighbour, torch.arange(end - first), torch.from_numpy(alpha))
        return AttendedRun(range(*self._targets[number].tolist()), slots, e_tilde)


def _e_tilde(number: int) -> str:
    """The name of the array with the edge embeddings of a run."""
    return f"e_tilde-{number}"


def _places(rows: NDArray[np.int64], nodes: NDArray[np.int64]) -> NDArray[np.int32]:
    """The row of each node. Searching in ascending order stays in the processor's cache."""
    order, places = np.argsort(nodes), np.empty(len(nodes), dtype=np.int32)
    places[order] = np.searchsorted(rows, nodes[order])
    return places
