"""Which device computes: decided once, at the edge, and passed down."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from gtea.errors import UsageError


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
    """In this thread, and in those that it starts meanwhile; afterwards as before."""
    before = _flushes_denormals()
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def _flushes_denormals() -> bool:
    """Torch tells nobody how it is set, but for its results."""
    tiny = torch.full((1,), torch.finfo(torch.float32).tiny)
    return float(tiny * 0.5) == 0.0
