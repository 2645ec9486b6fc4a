"""What computes, and how: the device, denormals, background threads, checkpoints. None of it changes a result."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from gtea.errors import UsageError

_WORKERS, _CHECKPOINTS = "GTEA_WORKERS", "GTEA_CHECKPOINT_SECONDS"


def resolve_device(name: str) -> torch.device:
    """``auto`` takes a GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name == "cuda" and not torch.cuda.is_available():
        raise UsageError("--device cuda: no GPU can be used here. Pass --device cpu, or look at gtea doctor.")
    if name not in ("cpu", "cuda"):
        raise UsageError(f"--device: must be auto, cpu or cuda (got {name!r}). Try auto.")
    return torch.device(name)


@contextmanager
def flush_denormals() -> Iterator[None]:
    """Treat denormals as zero in this thread, and in those that it starts in the body; afterwards as before.

    A gradient that flows back through hundreds of events shrinks at each step and passes through numbers below 1.2e-38.
    Intel processors take more than a hundred cycles for an operation on one of these, so the few longest histories of
    a batch would take longer than all others. Nothing is lost: whatever they are added to has no digit left for them.
    """
    before = _flushes_denormals()
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def _flushes_denormals() -> bool:
    """Torch has no getter for the flag, so try it."""
    tiny = torch.full((1,), torch.finfo(torch.float32).tiny)
    return float(tiny * 0.5) == 0.0


def loader_workers() -> int:
    """How many threads make batches ahead of time: GTEA_WORKERS, or 1. With 0 each is made when it is needed."""
    return int(_from_environment(_WORKERS, 1.0, whole=True))


def checkpoint_seconds() -> float:
    """How often a training is saved: every GTEA_CHECKPOINT_SECONDS, or 30, and after each epoch."""
    return _from_environment(_CHECKPOINTS, 30.0)


def _from_environment(name: str, default: float, *, whole: bool = False) -> float:
    text = os.environ.get(name, "")
    try:
        value = float(text) if text else default
    except ValueError:
        value = -1.0
    if not value >= 0 or (whole and not value.is_integer()):
        kind = "a whole number" if whole else "a number"
        raise UsageError(f"{name} must be {kind}, 0 or more (got {text!r}). Unset it to use {default:g}.")
    return value
