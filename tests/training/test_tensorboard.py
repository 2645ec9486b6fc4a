"""TensorBoard's files hold what metrics.jsonl holds, also after a kill."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gtea.training.fit import train_task
from gtea.training.loop import TrainingReport, no_report
from gtea.training.node_task import NodeTask
from gtea.training.tensorboard import FOLDER, with_board

pytest.importorskip("tensorboard", reason="TensorBoard is not installed")


def shown(folder: Path, name: str) -> dict[int, float]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events: Any = EventAccumulator(str(folder / FOLDER))
    events.Reload()
    return {point.step: point.value for point in events.Scalars(name)}


def test_a_killed_and_resumed_run_is_shown_whole(run_of: Callable[..., NodeTask]) -> None:
    run = run_of()

    def die(report: TrainingReport) -> None:
        if report.row is None and report.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_task(run, with_board(die))
    train_task(run, with_board(no_report), resume=True)
    rows = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    for name, key in (("loss", "loss"), ("validation/macro_f1", "validation_macro_f1")):
        assert shown(run.folder, name) == pytest.approx({row["epoch"]: row[key] for row in rows}, rel=1e-6)
