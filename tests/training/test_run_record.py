"""A run's folder: only the same run may go on in it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable

import pytest
from tests.training.kills import Killed, killed_after

from gtea.errors import ModelError, UsageError
from gtea.models.model_folder import load_model, save_model
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
    for content in ("[" * 100_000, "NaN", "7", "{"):
        record.write_text(content)
        with pytest.raises(ModelError, match=r"holds no run to resume \(run\.json can't be read\)"):
            train_task(run, no_report, resume=True)
    record.unlink()
    os.mkfifo(record)
    with pytest.raises(ModelError, match="holds no run to resume"):
        train_task(run, no_report, resume=True)
    with pytest.raises(ModelError, match="holds no run to resume"):
        train_task(run_of("elsewhere"), no_report, resume=True)


def test_the_metrics_of_a_finished_run_are_of_its_split(run_of: Make) -> None:
    run = run_of("m")
    train_task(run, no_report)
    saved = load_model(run.folder)
    split = {**saved.metrics["split"], "train": {**saved.metrics["split"]["train"], "as_of": 1}}
    other = dataclasses.replace(saved, metrics={**saved.metrics, "split": split})
    save_model(run.folder, other, "")
    with pytest.raises(ModelError, match=r"metrics\.json: must be of the split of its run \(got another one\)"):
        train_task(run, no_report, resume=True)
