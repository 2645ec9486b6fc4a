"""A run's folder: only the same run may go on in it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.training.kills import Killed, killed_after

from gtea.errors import ModelError, UsageError
from gtea.training.fit import train_task
from gtea.training.loop import no_report
from gtea.training.node_task import NodeTask

Make = Callable[..., NodeTask]


def test_a_resumed_run_must_be_the_same_run(run_of: Make) -> None:
    run = run_of("m")
    with pytest.raises(Killed):
        train_task(run, killed_after(2))
    with pytest.raises(UsageError, match=r"config.train.lr was 0.01 when the run began \(got 0.5\)"):
        train_task(run_of("m", "train.lr=0.5"), no_report, resume=True)
    record = run.folder / "run.json"
    begun = record.read_text()
    record.write_text(begun.replace('"arithmetic": "', '"arithmetic": "another '))
    with pytest.raises(UsageError, match="arithmetic was 'another "):
        train_task(run, no_report, resume=True)
    record.write_text(begun)
    with pytest.raises(UsageError, match="holds a run that has not finished"):
        train_task(run, no_report)
    with pytest.raises(ModelError, match="holds no run to resume"):
        train_task(run_of("elsewhere"), no_report, resume=True)
