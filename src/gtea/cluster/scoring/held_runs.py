"""Attended slots in the file of a task: all runs one after the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from gtea.cluster.part_files import Arrays, PartFile
from gtea.nn.batch import Slots
from gtea.nn.full_graph import AttendedRun


def arrays_of(runs: Sequence[AttendedRun], d_edge: int) -> Arrays:
    """The arrays of runs whose neighbours are named by their numbers in the store."""
    empty, e_tilde = np.empty(0, dtype=np.float32), [run.e_tilde.numpy() for run in runs]
    return {
        "targets": np.array([[run.targets.start, run.targets.stop] for run in runs], dtype=np.int64).reshape(-1, 2),
        "ends": np.cumsum([len(run.e_tilde) for run in runs], dtype=np.int64),
        "target": [run.slots.target.numpy().astype(np.int32) for run in runs] or empty.astype(np.int32),
        "neighbour": [run.slots.neighbour.numpy().astype(np.int32) for run in runs] or empty.astype(np.int32),
        "alpha": [run.slots.alpha.numpy() for run in runs] or empty,
        "e_tilde": e_tilde or np.empty((0, d_edge), dtype=np.float32),
    }


def neighbours_of(runs: Sequence[AttendedRun]) -> NDArray[np.int64]:
    """The distinct accounts that runs read, in ascending order."""
    found = [np.unique(run.slots.neighbour.numpy()) for run in runs]
    return np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)


def runs_of(file: PartFile, rows: NDArray[np.int64]) -> list[AttendedRun]:
    """The runs in a file; ``rows`` are the accounts of a table, ascending, and neighbours are named by their rows."""
    place = torch.from_numpy(np.searchsorted(rows, file.read("neighbour")))
    target, alpha, e_tilde = (torch.from_numpy(file.read(name)) for name in ("target", "alpha", "e_tilde"))
    made, first = [], 0
    for (start, stop), end in zip(file.read("targets").tolist(), file.read("ends").tolist(), strict=True):
        some = slice(first, end)
        slots = Slots(target[some].long(), place[some], torch.arange(end - first), alpha[some])
        made.append(AttendedRun(range(start, stop), slots, e_tilde[some]))
        first = end
    return made
