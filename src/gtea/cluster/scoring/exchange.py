"""What parts send each other: rows of accounts, to those who have asked for them.

Who needs rows of accounts beyond its own range writes their numbers down, sorted by the part that owns them. The owner
writes one array for each who asked. So nothing crosses that nobody reads, and there is one file per part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.cluster.part_files import PartFile
from gtea.cluster.scoring.job import PartPlan
from gtea.cluster.tasks import made_by


def wishes(plan: PartPlan, nodes: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """The arrays that say which accounts' rows are needed; ``nodes`` in ascending order."""
    bounds = np.searchsorted(nodes, plan.bounds)
    return {f"wanted-{part}": nodes[bounds[part] : bounds[part + 1]] for part in range(plan.num_parts)}


def granted(
    folder: Path, part: int, asking: Iterable[str], nodes: NDArray[np.int64], rows: NDArray[Any]
) -> dict[str, NDArray[Any]]:
    """The arrays with the rows of a part's accounts for each who asked.

    Args:
        asking: The tasks whose files have wishes.
        nodes: The accounts that have rows, in ascending order.
    """
    sent = {}
    for name in asking:
        wanted = made_by(folder, name).read(f"wanted-{part}")
        if len(wanted):
            sent[f"to-{name}"] = rows[np.searchsorted(nodes, wanted)]
    return sent


def received(
    folder: Path, name: str, senders: Sequence[str], width: int, dtype: np.dtype[Any], *, kind: str = ""
) -> NDArray[Any]:
    """The rows that a task asked for, in the order of the accounts.

    Args:
        senders: The tasks that grant wishes, in the order of parts.
        kind: What comes before the names of the arrays, where there are rows of several kinds.
    """
    sent = f"{kind}to-{name}"
    files = [file for file in (made_by(folder, sender) for sender in senders) if sent in file.arrays]
    rows = np.empty((sum(file.num_rows(sent) for file in files), width), dtype=dtype)
    _fill(rows, files, sent)
    return rows


def receive(folder: Path, name: str, senders: Sequence[str], rows: NDArray[Any]) -> None:
    """Put the rows that a task asked for into memory that lies side by side, in the order of the accounts."""
    sent = f"to-{name}"
    _fill(rows, [file for file in (made_by(folder, sender) for sender in senders) if sent in file.arrays], sent)


def _fill(rows: NDArray[Any], files: Sequence[PartFile], sent: str) -> None:
    first = 0
    for file in files:
        last = first + file.num_rows(sent)
        file.read_into(sent, rows[first:last])
        first = last
    assert first == len(rows), "all that was asked for is sent"


def asked(folder: Path, name: str, num_parts: int) -> NDArray[np.int64]:
    """The accounts whose rows a task asked for, in ascending order."""
    file = made_by(folder, name)
    return np.concatenate([file.read(f"wanted-{part}") for part in range(num_parts)])
