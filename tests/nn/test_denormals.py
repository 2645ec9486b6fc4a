"""Denormals are flushed to zero where networks train, and nowhere else."""

from __future__ import annotations

import threading

import pytest
import torch

from gtea.nn.denormals import flush_denormals

SMALLEST_NORMAL = torch.finfo(torch.float32).tiny


def denormal() -> float:
    """Half of the smallest normal float: 0 where denormals are flushed."""
    return float(torch.full((1,), SMALLEST_NORMAL) * 0.5)


def test_denormals_are_zero_inside_and_the_setting_is_restored() -> None:
    assert denormal() > 0
    with flush_denormals():
        assert denormal() == 0
        with flush_denormals():
            assert denormal() == 0
        assert denormal() == 0  # the inner one restores what it found
    assert denormal() > 0


def test_an_exception_restores_the_setting() -> None:
    with pytest.raises(KeyError), flush_denormals():
        raise KeyError
    assert denormal() > 0


def test_a_thread_that_already_runs_is_not_affected() -> None:
    ask, found = threading.Event(), []
    thread = threading.Thread(target=lambda: (ask.wait(), found.append(denormal())))
    thread.start()
    with flush_denormals():
        ask.set()
        thread.join()
    assert found[0] > 0
