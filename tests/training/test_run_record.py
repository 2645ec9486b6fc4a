"""A run's folder: only the same run may go on in it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable

import pytest
from tests.training.kills import Killed, killed_after

from gtea.errors import ModelError, UsageError
from gtea.models.model_folder import load_model, save_model
from gtea.training.fit import train_for_validation, train_task
from gtea.training.loop import TrainingReport, no_report
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


def test_two_trainings_in_one_folder(run_of: Make) -> None:
    """The second is refused from the first moment, however it is started, and the first is not disturbed."""
    run = run_of("m", "train.epochs=1")
    refused: list[str] = []

    def second(report: TrainingReport) -> None:
        if refused:
            return
        for train in (train_task, train_for_validation):
            for resume in (False, True):
                with pytest.raises(UsageError) as error:
                    train(run_of("m", "train.seed=7"), no_report, resume=resume)
                refused.append(str(error.value))

    train_task(run, second)
    message = "m: another gtea process is training there. Wait for it, or choose another --out."
    assert len(refused) == 4
    assert all(words.endswith(message) for words in refused)
    assert '"seed": 0' in (run.folder / "run.json").read_text()
    assert (run.folder / "manifest.json").exists()


def test_a_training_that_fails_at_once_leaves_no_folder(run_of: Make) -> None:
    run = run_of("m")
    with pytest.raises(ModelError, match="holds no run to resume"):
        train_task(run, no_report, resume=True)
    assert not run.folder.exists()
