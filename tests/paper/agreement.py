"""Comparing a module with its naive twin, values and gradients of all parameters, in both precisions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TypeVar

import pytest
import torch
from torch import Tensor, nn

Module = TypeVar("Module", bound=nn.Module)

both_precisions = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])


def assert_agrees(
    module: Module, fast: Callable[[Module], Tensor], slow: Callable[[Module], Tensor], dtype: torch.dtype
) -> None:
    """Run ``fast`` in ``dtype`` and ``slow`` in float64 on the same weights; compare to 1e-5 or 1e-10.

    Gradients are those of a random linear function of the output, so that no two errors cancel.
    """
    tolerance = 1e-5 if dtype == torch.float32 else 1e-10
    quick = copy.deepcopy(module).to(dtype)
    twin = copy.deepcopy(quick).double()
    result, expected = fast(quick), slow(twin)
    assert result.dtype == dtype
    direction = torch.randn(expected.shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    _assert_close("output", result, expected, tolerance)
    assert result.requires_grad == expected.requires_grad
    if not result.requires_grad:
        return
    (result * direction.to(dtype)).sum().backward()
    (expected * direction).sum().backward()
    for (name, parameter), true in zip(quick.named_parameters(), twin.parameters(), strict=True):
        assert (parameter.grad is None) == (true.grad is None), name
        if parameter.grad is not None and true.grad is not None:
            _assert_close(name, parameter.grad, true.grad, tolerance)


def _assert_close(name: str, result: Tensor, expected: Tensor, tolerance: float) -> None:
    scale = max(1.0, float(expected.detach().abs().max())) if expected.numel() else 1.0
    worst = float((result.detach().double() - expected.detach()).abs().max()) if expected.numel() else 0.0
    assert worst <= tolerance * scale, f"{name}: off by {worst} at scale {scale}"
