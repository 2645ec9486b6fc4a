"""TensorBoard logs, if TensorBoard is installed: every metric of metrics.jsonl by epoch."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from gtea.training.loop import TrainingListener, TrainingReport

FOLDER = "tensorboard"


def with_board(listener: TrainingListener) -> TrainingListener:
    """Also write TensorBoard files to the folder of each run. Return the listener unchanged without TensorBoard."""
    if importlib.util.find_spec("tensorboard") is None:
        return listener
    board = _Board()

    def both(report: TrainingReport) -> None:
        listener(report)
        board(report)

    return both


class _Board:
    def __init__(self) -> None:
        self._writers: dict[Path, Any] = {}

    def __call__(self, report: TrainingReport) -> None:
        if report.row is None:
            return
        writer = self._writer(report)
        for name, value in report.row.items():
            if name != "epoch":
                writer.add_scalar(name.replace("validation_", "validation/"), value, report.epoch)
        writer.flush()

    def _writer(self, report: TrainingReport) -> Any:
        if report.folder not in self._writers:
            from torch.utils.tensorboard import SummaryWriter

            # Discard what a killed run logged for this epoch and later ones.
            writer = SummaryWriter(str(report.folder / FOLDER), purge_step=report.epoch)
            self._writers[report.folder] = writer
        return self._writers[report.folder]
