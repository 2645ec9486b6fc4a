"""Autograd around the compiled LSTM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from gtea_kernels import _core
from gtea_kernels.instructions import instruction_set

Weights = tuple[Tensor, Tensor, Tensor]
"""One layer: w [4 d, d_in], u [4 d, d], b [4 d]; the gates i, f, c, o stand below one another in this order."""
State = tuple[Tensor, Tensor]
"""h and c, each [num_layers, num_edges, d]."""


def lstm(
    x: Tensor, offset: Tensor, encoders: Sequence[Sequence[Weights]], states: Sequence[State] | None = None
) -> list[State]:
    """The state of each encoder after each history's last event.

    Args:
        x: The events of all edges, one edge after the other, [num_events, d_in].
        offset: Edge i owns rows offset[i] : offset[i + 1].
        encoders: The layers of each encoder, all encoders of one shape.
        states: What each encoder starts from; None stands for zeros, and is less work than zeros.
    """
    h, c = _run(x, offset, encoders, states, wants_c=True)
    return list(zip(h, c, strict=True))


def last_h(x: Tensor, offset: Tensor, encoders: Sequence[Sequence[Weights]]) -> list[Tensor]:
    """Of each encoder h alone after each history's last event, from zeros, [num_layers, num_edges, d]: no c is kept."""
    return list(_run(x, offset, encoders, None, wants_c=False)[0])


def last_h_mirrored(x: Tensor, offset: Tensor, encoders: Sequence[Sequence[Weights]], column: int) -> list[Tensor]:
    """``last_h`` of x and, behind it, of x with one column negated, for less than twice the price. Has no gradients.

    Each has the very bits that ``last_h`` gives.
    """
    parameters = [part for layers in encoders for layer in layers for part in layer]
    if not 0 <= column < x.shape[1]:
        raise ValueError(f"column must be one of x (got {column} of {x.shape[1]})")
    h, _, _, _ = _core.lstm_forward(
        x, offset, parameters, [], [], len(encoders), instruction_set(), False, False, column
    )
    return h


def _run(
    x: Tensor,
    offset: Tensor,
    encoders: Sequence[Sequence[Weights]],
    states: Sequence[State] | None,
    wants_c: bool,
) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
    parameters = [part for layers in encoders for layer in layers for part in layer]
    h_first, c_first = zip(*states, strict=True) if states else ((), ())
    call = _Call(len(encoders), len(parameters), bool(states), wants_c)
    tensors = (x, offset, *parameters, *h_first, *c_first)
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return call.halves(_LSTM.apply(call, *tensors))  # type: ignore[no-untyped-call]
    h, c, _, _ = _core.lstm_forward(*call.split(tensors), instruction_set(), False, wants_c, -1)
    return h, c


class _Call(NamedTuple):
    """How the flat list of tensors that autograd wants is made up: x, offset, parameters, all h, all c."""

    num_encoders: int
    num_parameters: int
    has_states: bool
    wants_c: bool

    def split(self, tensors: Sequence[Tensor]) -> tuple[Tensor, Tensor, list[Tensor], list[Tensor], list[Tensor], int]:
        """What the core wants: x, offset, parameters, h, c, num_encoders."""
        states = list(tensors[2 + self.num_parameters :])
        middle = len(states) // 2
        parameters = list(tensors[2 : 2 + self.num_parameters])
        return tensors[0], tensors[1], parameters, states[:middle], states[middle:], self.num_encoders

    def halves(self, results: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """Of something like all h and all c: that of h, that of c; nothing where c was not asked for."""
        return results[: self.num_encoders], results[self.num_encoders :]


class _LSTM(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: _Call, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.call, ctx.instruction_set = call, instruction_set()
        ctx.set_materialize_grads(False)
        h, c, saved, ctx.num_threads = _core.lstm_forward(
            *call.split(tensors), ctx.instruction_set, True, call.wants_c, -1
        )
        ctx.save_for_backward(saved, *tensors)
        return (*h, *c)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Any, ...]:
        call: _Call = ctx.call
        saved, *tensors = ctx.saved_tensors
        wants_x, wants_states = ctx.needs_input_grad[1], any(ctx.needs_input_grad[3 + call.num_parameters :])
        dh, dc = call.halves(gradients)
        dc = dc if call.wants_c else [None] * call.num_encoders
        dx, dparameters, dh_first, dc_first = _core.lstm_backward(
            *call.split(tensors),
            ctx.instruction_set,
            saved,
            ctx.num_threads,
            dh,
            dc,
            wants_x,
            wants_states,
        )
        # None, not zeros, for what nobody used: optimisers leave such a parameter alone.
        used = [of_h is not None or of_c is not None for of_h, of_c in zip(dh, dc, strict=True)]
        per_encoder = call.num_parameters // call.num_encoders
        of_parameters = [part if used[i // per_encoder] else None for i, part in enumerate(dparameters)]
        of_states = [part if used[i % call.num_encoders] else None for i, part in enumerate([*dh_first, *dc_first])]
        if not wants_states:
            of_states = [None] * (2 * call.num_encoders * call.has_states)
        return (None, dx if wants_x else None, None, *of_parameters, *of_states)
