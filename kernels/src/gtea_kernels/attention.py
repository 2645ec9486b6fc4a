"""Autograd around the compiled attention of last events."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from gtea_kernels import _core
from gtea_kernels.instructions import instruction_set


def attend_last(q: Tensor, k: Tensor, e: Tensor, offset: Tensor) -> Tensor:
    """softmax(q k^T / sqrt(d_query)) e of each history and head, [num_edges, num_heads, d]; zeros for an empty one.

    Args:
        q: One query a history and head, [num_edges, num_heads, d_query].
        k: [num_events, num_heads, d_query].
        e: What is summed up, for all heads the same, [num_events, d].
        offset: History i owns events offset[i] : offset[i + 1]; together they own all.
    """
    summed: Tensor = _AttendLast.apply(q, k, e, offset)  # type: ignore[no-untyped-call]
    return summed


class _AttendLast(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, e: Tensor, offset: Tensor) -> Tensor:
        ctx.instruction_set = instruction_set()
        summed, weights = _core.attend_last(q, k, e, offset, ctx.instruction_set)
        ctx.save_for_backward(q, k, e, offset, weights)
        return summed

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        q, k, e, offset, weights = ctx.saved_tensors
        dq, dk, de = _core.attend_last_backward(q, k, e, offset, weights, gradient, ctx.instruction_set)
        return dq, dk, de, None
