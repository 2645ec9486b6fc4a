"""Numbers below 1.2e-38 are zero where networks learn, and nowhere else."""

from __future__ import annotations

import threading

import pytest
import torch

from gtea.runtime.device import flush_denormals

TINY = torch.finfo(torch.float32).tiny


def halved() -> float:
    """Half of the smallest number in usual form."""
    return float(torch.full((1,), TINY) * 0.5)


def test_they_are_zero_inside_and_as_before_afterwards() -> None:
    assert halved() > 0
    with flush_denormals():
        assert halved() == 0
        with flush_denormals():
            assert halved() == 0
        assert halved() == 0  # the inner one leaves what it found
    assert halved() > 0


def test_a_failure_puts_things_back() -> None:
    with pytest.raises(KeyError), flush_denormals():
        raise KeyError
    assert halved() > 0


def test_a_thread_that_is_there_already_does_not_notice() -> None:
    ask, found = threading.Event(), []
    thread = threading.Thread(target=lambda: (ask.wait(), found.append(halved())))
    thread.start()
    with flush_denormals():
        ask.set()
        thread.join()
    assert found[0] > 0
