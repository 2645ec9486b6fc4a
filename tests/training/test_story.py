"""A try trains as a run does, and never looks at the test part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from gtea.training.loop import silent
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
