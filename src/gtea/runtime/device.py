"""Runtime settings: device, denormals, loader threads, checkpoint interval, patience. None of them changes a result."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from gtea.errors import UsageError

_WORKERS_VARIABLE, _CHECKPOINT_VARIABLE = "GTEA_WORKERS", "GTEA_CHECKPOINT_SECONDS"
_SILENT_VARIABLE = "GTEA_SILENT_SECONDS"
_LONGEST_SILENCE = 1e8
"""Three years: torch counts in whole milliseconds, and has no infinity."""


def resolve_device(name: str) -> torch.device:
    """Return the torch device for ``auto``, ``cpu`` or ``cuda``. ``auto`` uses a GPU if there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name == "cuda" and not torch.cuda.is_available():
        raise UsageError("--device cuda: no usable GPU was found. Pass --device cpu, or run gtea doctor.")
    if name not in ("cpu", "cuda"):
        raise UsageError(f"--device: must be auto, cpu or cuda (got {name!r}). Try auto.")
    return torch.device(name)


@contextmanager
def flush_denormals() -> Iterator[None]:
    """Treat denormals as zero in this thread, and in threads started in the body. Restores the old mode on exit.

    A gradient shrinks at each step as it is propagated back through hundreds of events, and falls below 1.2e-38.
    Intel processors need more than a hundred cycles for an operation on such a number, so the few longest histories
    of a batch would take longer than all others. The result is not affected: a denormal is too small to change the
    sum that it is added to.
    """
    before = _flushes_denormals()
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def _flushes_denormals() -> bool:
    """Whether denormals are flushed now. Torch has no getter for the flag, so compute one and check."""
    tiny = torch.full((1,), torch.finfo(torch.float32).tiny)
    return float(tiny * 0.5) == 0.0


def loader_workers() -> int:
    """Number of threads that build batches ahead of time: GTEA_WORKERS, 1 by default. 0 builds them on demand."""
    return int(_from_environment(_WORKERS_VARIABLE, 1.0, whole=True))


def checkpoint_seconds() -> float:
    """Seconds between checkpoints within an epoch: GTEA_CHECKPOINT_SECONDS, 30 by default."""
    return _from_environment(_CHECKPOINT_VARIABLE, 30.0)


def silent_seconds() -> float:
    """Seconds that workers of one training wait for one that says nothing: GTEA_SILENT_SECONDS, 1,800 by default.

    One that dies is noticed at once, unless its machine or the network dies with it.
    """
    return min(_from_environment(_SILENT_VARIABLE, 1800.0), _LONGEST_SILENCE)


def _from_environment(name: str, default: float, *, whole: bool = False) -> float:
    text = os.environ.get(name, "")
    try:
        value = float(text) if text else default
    except ValueError:
        value = -1.0
    if not value >= 0 or (whole and not value.is_integer()):
        kind = "a whole number" if whole else "a number"
        raise UsageError(f"{name}: must be {kind}, 0 or more (got {text!r}). Unset it to use {default:g}.")
    return value
