"""A try trains as a run does, and never looks at the test part; what training asks of the processor ends with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from gtea.training.loop import Report, silent
from gtea.training.nodes import NodeRun
from gtea.training.story import train_task, try_task


def test_a_try_follows_the_same_epochs_without_the_test_part(run_of: Callable[..., NodeRun]) -> None:
    run, tried = run_of("run"), run_of("try")
    assert tried.split.test is not None
    trap = replace(tried.split.test, index=np.array([10**9]))  # whoever scores it goes beyond the labels
    tried = replace(tried, split=replace(tried.split, test=trap))
    train_task(run, silent)
    progress = try_task(tried, silent)
    assert len(progress.history) == 3
    assert (tried.folder / "metrics.jsonl").read_bytes() == (run.folder / "metrics.jsonl").read_bytes()
    assert not (tried.folder / "manifest.json").exists()
    assert try_task(tried, silent, resume=True) == progress
    with pytest.raises(IndexError):
        train_task(tried, silent, resume=True)


def test_denormals_are_zero_while_it_trains(run_of: Callable[..., NodeRun]) -> None:
    def halved() -> float:
        return float(torch.full((1,), torch.finfo(torch.float32).tiny) * 0.5)

    seen = set()

    def look(report: Report) -> None:
        seen.add(halved())

    train_task(run_of("run"), look)
    assert seen == {0.0}
    assert halved() > 0
