"""Autograd around the compiled time encoding."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from gtea_kernels import library
from gtea_kernels.instructions import instruction_set_index
from gtea_kernels.tensors import floats, require_dimensions


def times_and_features(time: Tensor, features: Tensor, omega: Tensor, phi: Tensor, longest_period: float) -> Tensor:
    """Rows [omega_0 t + phi_0, cos(omega_i t + phi_i), .. || f], t in units of the longest period.

    Phases are computed in double precision. There are gradients for features, omega and phi, but not for time.

    Args:
        time: [num_events].
        features: [num_events, d_features].
        omega: Radians per longest period, [d_time]; the first belongs to the linear part.
        phi: Radians, [d_time].
    """
    if time.requires_grad:
        raise ValueError("time must not require a gradient: the kernel has none. Use PyTorch.")
    rows: Tensor = _TimesAndFeatures.apply(time, features, omega, phi, longest_period)  # type: ignore[no-untyped-call]
    return rows


class _TimesAndFeatures(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, time: Tensor, features: Tensor, omega: Tensor, phi: Tensor, longest_period: float) -> Tensor:
        ctx.longest_period, ctx.instruction_set = longest_period, instruction_set_index()
        ctx.save_for_backward(time, omega, phi)
        time, omega, phi = _checked(time, omega, phi, longest_period)
        require_dimensions("features", features, 2)
        num_events, d_time, d_features = time.numel(), omega.numel(), features.shape[1]
        features = floats(features, "features", (num_events, d_features))
        out = time.new_empty(num_events, d_time + d_features)
        library.encode_times(
            *(ctx.instruction_set, torch.get_num_threads(), num_events, d_time, d_features),
            *(time.data_ptr(), longest_period, omega.data_ptr(), phi.data_ptr(), features.data_ptr(), out.data_ptr()),
        )
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        time, omega, phi = ctx.saved_tensors
        for_features = gradient[:, len(omega) :] if ctx.needs_input_grad[1] else None
        if not (ctx.needs_input_grad[2] or ctx.needs_input_grad[3]):
            return None, for_features, None, None, None
        time, omega, phi = _checked(time, omega, phi, ctx.longest_period)
        gradient = floats(gradient, "gradient", (len(time), gradient.shape[1]))
        domega, dphi = torch.empty_like(omega), torch.empty_like(phi)
        library.encode_times_backward(
            *(ctx.instruction_set, torch.get_num_threads(), len(time), len(omega), gradient.shape[1]),
            *(time.data_ptr(), ctx.longest_period, omega.data_ptr(), phi.data_ptr()),
            *(gradient.data_ptr(), domega.data_ptr(), dphi.data_ptr()),
        )
        return None, for_features, domega, dphi, None


def _checked(time: Tensor, omega: Tensor, phi: Tensor, longest_period: float) -> tuple[Tensor, Tensor, Tensor]:
    if not (omega.numel() and longest_period > 0):
        raise ValueError("omega must not be empty, and the longest period must be above 0")
    shape = (omega.numel(),)
    return floats(time, "time", (time.numel(),)), floats(omega, "omega", shape), floats(phi, "phi", shape)
