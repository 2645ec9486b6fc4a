"""Autograd around the compiled time encoding."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from gtea_kernels import _core
from gtea_kernels.instructions import instruction_set


def times_and_features(time: Tensor, features: Tensor, omega: Tensor, phi: Tensor, longest_period: float) -> Tensor:
    """Rows [omega_0 t + phi_0, cos(omega_i t + phi_i), .. || f], t in units of the longest period.

    Phases are computed in double precision. There are gradients by features, omega and phi, and none by time.

    Args:
        time: [num_events].
        features: [num_events, d_features].
        omega: Radians in a longest period, [d_time]; the first is the linear part's.
        phi: Radians, [d_time].
    """
    if time.requires_grad:
        raise ValueError("time must not require a gradient: the kernel has none. Use PyTorch.")
    rows: Tensor = _TimesAndFeatures.apply(time, features, omega, phi, longest_period)  # type: ignore[no-untyped-call]
    return rows


class _TimesAndFeatures(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, time: Tensor, features: Tensor, omega: Tensor, phi: Tensor, longest_period: float) -> Tensor:
        ctx.longest_period, ctx.instruction_set = longest_period, instruction_set()
        ctx.save_for_backward(time, omega, phi)
        return _core.encode_times(time, features, omega, phi, longest_period, ctx.instruction_set)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        time, omega, phi = ctx.saved_tensors
        of_features = gradient[:, len(omega) :] if ctx.needs_input_grad[1] else None
        if not (ctx.needs_input_grad[2] or ctx.needs_input_grad[3]):
            return None, of_features, None, None, None
        domega, dphi = _core.encode_times_backward(time, omega, phi, ctx.longest_period, gradient, ctx.instruction_set)
        return None, of_features, domega, dphi, None
