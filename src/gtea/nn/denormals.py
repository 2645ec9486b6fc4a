"""Denormals (floats below 1.2e-38) count as zero while a network trains.

A gradient that flows back through a few hundred events shrinks at every step and becomes denormal before it reaches
zero. Intel processors spend more than a hundred cycles on each denormal operand, so that the few longest histories of a
batch cost more than all the others; an encoder's step took three times as long. Nothing is lost: the sums that such
numbers are added to have no digits left for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def flush_denormals() -> Iterator[None]:
    """In this thread, and in threads that it starts meanwhile. Restores the previous setting."""
    before = _are_flushed()
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def _are_flushed() -> bool:
    """Torch has no getter for its setting, so try it out."""
    smallest_normal = torch.full((1,), torch.finfo(torch.float32).tiny)
    return float(smallest_normal * 0.5) == 0.0
