"""Attended slots in the file of a task: all runs one after the other.

Neighbours are named by rows of a table: that of the accounts which the runs and their targets read. A layer reads a
run's edge embeddings when it comes to them, into memory that fits into the processor's cache. Each run has a check sum
for that, beside the digest of all: an array per run would make the header long, which everybody reads who sends rows.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gtea.cluster.part_files import Arrays, DamagedFileError, PartFile
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
        "e_tilde": [run.e_tilde.numpy() for run in runs] or np.empty((0, 0), dtype=np.float32),
        "e_tilde_crc": np.array([_check_sum(run.e_tilde.numpy()) for run in runs], dtype=np.uint32),
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
        self._targets, self._ends, self._crc = (file.read(name) for name in ("targets", "ends", "e_tilde_crc"))
        self._target, self._neighbour, self._alpha = (file.read(name) for name in ("target", "neighbour", "alpha"))

    def __len__(self) -> int:
        return len(self._targets)

    def read(self, number: int) -> AttendedRun:
        """A run with its edge embeddings, which are read now. Its neighbours are rows of the table."""
        first, end = int(self._ends[number - 1]) if number else 0, int(self._ends[number])
        target, neighbour = (
            torch.from_numpy(each[first:end].astype(np.int64)) for each in (self._target, self._neighbour)
        )
        e_tilde = self._file.read_rows("e_tilde", first, end - first)
        if _check_sum(e_tilde) != self._crc[number]:
            raise DamagedFileError(self._file.path, "e_tilde has been changed or cut")
        slots = Slots(target, neighbour, torch.arange(end - first), torch.from_numpy(self._alpha[first:end]))
        return AttendedRun(range(*self._targets[number].tolist()), slots, torch.from_numpy(e_tilde))


def _check_sum(rows: NDArray[Any]) -> int:
    return zlib.crc32(np.ascontiguousarray(rows).reshape(-1).view(np.uint8).data)


def _places(rows: NDArray[np.int64], nodes: NDArray[np.int64]) -> NDArray[np.int32]:
    """The row of each node. Searching in ascending order stays in the processor's cache."""
    order, places = np.argsort(nodes), np.empty(len(nodes), dtype=np.int32)
    places[order] = np.searchsorted(rows, nodes[order])
    return places
