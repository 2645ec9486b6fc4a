"""A try trains as a run does, and never looks at the test part; what training asks of the processor ends with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from gtea.training.fit import train_for_validation, train_task
from gtea.training.loop import TrainingReport, no_report
from gtea.training.node_task import NodeTask


def test_a_try_follows_the_same_epochs_without_the_test_part(run_of: Callable[..., NodeTask]) -> None:
    run, tried = run_of("run"), run_of("try")
    assert tried.split.test is not None
    trap = replace(tried.split.test, index=np.array([10**9]))  # whoever scores it goes beyond the labels
    tried = replace(tried, split=replace(tried.split, test=trap))
    train_task(run, no_report)
    progress = train_for_validation(tried, no_report)
    assert len(progress.history) == 3
    assert (tried.folder / "metrics.jsonl").read_bytes() == (run.folder / "metrics.jsonl").read_bytes()
    assert not (tried.folder / "manifest.json").exists()
    assert train_for_validation(tried, no_report, resume=True) == progress
    with pytest.raises(IndexError):
        train_task(tried, no_report, resume=True)


def test_tiny_numbers_are_zero_while_it_trains(run_of: Callable[..., NodeTask]) -> None:
    def halved() -> float:
        return float(torch.full((1,), torch.finfo(torch.float32).tiny) * 0.5)

    seen = set()

    def look(report: TrainingReport) -> None:
        seen.add(halved())

    train_task(run_of("run"), look)
    assert seen == {0.0}
    assert halved() > 0
