"""Numbers too small to have a float's usual form count as zero while a network learns.

A gradient that flows back through a few hundred events shrinks with each of them, and on its way to zero passes through
numbers below 1.2e-38. Intel's processors take more than a hundred cycles for every operation on one of these: the few
longest histories of a batch then take longer than all the others (an encoder's step three times as long). Nothing is
lost: whatever such numbers are added to has no digit left for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def tiny_numbers_are_zero() -> Iterator[None]:
    """In this thread, and in those that it starts meanwhile; afterwards as before."""
    before = _are_zero()
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def _are_zero() -> bool:
    """Torch tells nobody how it is set, but for its results."""
    tiny = torch.full((1,), torch.finfo(torch.float32).tiny)
    return float(tiny * 0.5) == 0.0
