"""Autograd around the compiled attention of last events."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from gtea_kernels import library
from gtea_kernels.instructions import instruction_set_index
from gtea_kernels.tensors import floats, offsets, require_dimensions


def attend_last(q: Tensor, k: Tensor, e: Tensor, offset: Tensor) -> Tensor:
    """softmax(q k^T / sqrt(d_query)) e for each edge and head, [num_edges, num_heads, d]; zeros without events.

    Args:
        q: One query per edge and head, [num_edges, num_heads, d_query].
        k: [num_events, num_heads, d_query].
        e: The values, shared by all heads, [num_events, d].
        offset: Edge i owns events offset[i] : offset[i + 1]; every event has an owner.
    """
    summed: Tensor = _AttendLast.apply(q, k, e, offset)  # type: ignore[no-untyped-call]
    return summed


class _AttendLast(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, e: Tensor, offset: Tensor) -> Tensor:
        ctx.instruction_set, inputs = instruction_set_index(), (q, k, e, offset)
        q, k, e, offset = _checked(*inputs)
        num_edges, num_events, num_heads, _, d = sizes = _sizes(q, e)
        weights, out = e.new_empty(num_events, num_heads), e.new_empty(num_edges, num_heads, d)
        arrays = (offset, q, k, e, weights, out)
        library.attend_last(
            ctx.instruction_set, torch.get_num_threads(), *sizes, *(array.data_ptr() for array in arrays)
        )
        ctx.save_for_backward(*inputs, weights)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        *inputs, weights = ctx.saved_tensors
        q, k, e, offset = _checked(*inputs)
        num_edges, num_events, num_heads, _, d = sizes = _sizes(q, e)
        weights = floats(weights, "weights", (num_events, num_heads))
        gradient = floats(gradient, "gradient", (num_edges, num_heads, d))
        dq, dk, de = torch.empty_like(q), torch.empty_like(k), torch.empty_like(e)
        arrays = (offset, q, k, e, weights, gradient, dq, dk, de)
        library.attend_last_backward(
            ctx.instruction_set, torch.get_num_threads(), *sizes, *(array.data_ptr() for array in arrays)
        )
        return dq, dk, de, None


def _checked(q: Tensor, k: Tensor, e: Tensor, offset: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    require_dimensions("q", q, 3)
    require_dimensions("e", e, 2)
    _, num_heads, d_query = q.shape
    num_events, d = e.shape
    if d_query == 0:
        raise ValueError(f"q must have at least one entry per head (got the shape {list(q.shape)})")
    offset = offsets(offset)
    return (
        floats(q, "q", (offset.numel() - 1, num_heads, d_query)),
        floats(k, "k", (num_events, num_heads, d_query)),
        floats(e, "e", (num_events, d)),
        offset,
    )


def _sizes(q: Tensor, e: Tensor) -> tuple[int, int, int, int, int]:
    """num_edges, num_events, num_heads, d_query, d."""
    (num_edges, num_heads, d_query), (num_events, d) = q.shape, e.shape
    return num_edges, num_events, num_heads, d_query, d
