"""How far trainings are, read from their folders: whoever runs them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gtea.training.loop import METRICS
from gtea.training.run_record import finished


def share_trained(runs: Sequence[Path], epochs: int) -> float:
    """The share of all epochs that is done. A training may stop early, so it may jump ahead."""
    return sum(_share_of(folder, epochs) for folder in runs) / max(1, len(runs))


def _share_of(folder: Path, epochs: int) -> float:
    if finished(folder):
        return 1.0
    try:
        rows = (folder / METRICS).read_bytes().count(b"\n")
    except OSError:
        return 0.0
    return min(1.0, rows / epochs)
