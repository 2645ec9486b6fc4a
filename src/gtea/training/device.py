"""Which device computes: decided once, at the edge, and passed down."""

from __future__ import annotations

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
