"""Training from split to saved model: the same bytes again, after a kill, and only from what it may see."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tests.training.kills import Killed, killed_after, weights_digest

from gtea.errors import ModelError
from gtea.scoring.scorer import NodeModel
from gtea.training.fit import train_task
from gtea.training.loop import no_report
from gtea.training.node_task import NodeTask

Make = Callable[..., NodeTask]


def test_the_same_seed_gives_the_same_bytes(run_of: Make) -> None:
    first, again = run_of("a"), run_of("b")
    train_task(first, no_report)
    train_task(again, no_report)
    assert weights_digest(first.folder) == weights_digest(again.folder)
    other = run_of("c", "train.seed=1")
    train_task(other, no_report)
    assert weights_digest(other.folder) != weights_digest(first.folder)


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_bytes(run_of: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every batch of three epochs, with a checkpoint after each batch or only after each epoch."""
    whole = run_of("whole")
    train_task(whole, no_report)
    for seconds in ("0", "1000"):
        monkeypatch.setenv("GTEA_CHECKPOINT_SECONDS", seconds)
        for batches in range(1, 13, 2):
            run = run_of(f"killed-{seconds}-{batches}")
            with pytest.raises(Killed):
                train_task(run, killed_after(batches))
            with pytest.raises(ModelError, match="is a run that has not finished"):
                NodeModel.open(run.folder, torch.device("cpu"))
            train_task(run, no_report, resume=True)
            assert weights_digest(run.folder) == weights_digest(whole.folder)
            assert (run.folder / "metrics.jsonl").read_text() == (whole.folder / "metrics.jsonl").read_text()


def test_workers_change_nothing(run_of: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = set()
    for workers in ("0", "2"):
        monkeypatch.setenv("GTEA_WORKERS", workers)
        run = run_of(f"w{workers}")
        train_task(run, no_report)
        digests.add(weights_digest(run.folder))
    assert len(digests) == 1


def test_every_variant_trains(run_of: Make) -> None:
    for encoder, time in (("lstm", "false"), ("transformer", "true"), ("statistics", "false")):
        run = run_of(encoder, f"model.encoder={encoder}", f"model.time_encoding={time}", "train.epochs=1")
        metrics = train_task(run, no_report).metrics
        assert 0 <= metrics["test"]["macro_f1"] <= 1
