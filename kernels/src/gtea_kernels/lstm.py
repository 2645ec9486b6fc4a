"""Autograd around the compiled LSTM."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import byref
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from gtea_kernels import library
from gtea_kernels.instructions import instruction_set_index
from gtea_kernels.tensors import floats, from_pool, offsets, pointers, require_dimensions

Weights = tuple[Tensor, Tensor, Tensor]
"""One layer: w [4 d, d_in], u [4 d, d], b [4 d]; the gates i, f, c, o are stacked in this order."""
State = tuple[Tensor, Tensor]
"""h and c, each [num_layers, num_edges, d]."""


def lstm(
    x: Tensor, offset: Tensor, encoders: Sequence[Sequence[Weights]], states: Sequence[State] | None = None
) -> list[State]:
    """The state of each encoder after each edge's last event.

    Args:
        x: The events of all edges, one edge after the other, [num_events, d_in].
        offset: Edge i owns rows offset[i] : offset[i + 1].
        encoders: The layers of each encoder; all encoders have one shape.
        states: The first state of each encoder. None stands for zeros and is faster than passing zeros.
    """
    h, c = _run(x, offset, encoders, states, wants_c=True)
    return list(zip(h, c, strict=True))


def last_h(x: Tensor, offset: Tensor, encoders: Sequence[Sequence[Weights]]) -> list[Tensor]:
    """Only h of each encoder after each edge's last event, starting from zeros, [num_layers, num_edges, d]."""
    return list(_run(x, offset, encoders, None, wants_c=False)[0])


def last_h_mirrored(x: Tensor, offset: Tensor, encoders: Sequence[Sequence[Weights]], column: int) -> list[Tensor]:
    """``last_h`` of x, followed by ``last_h`` of x with one column negated, for less than twice the time.

    The results are bit for bit those of ``last_h``. There are no gradients.
    """
    if not 0 <= column < x.shape[1]:
        raise ValueError(f"column must be one of x (got {column} of {x.shape[1]})")
    inputs = _checked(x, offset, _parameters(encoders), (), (), len(encoders))
    return _forward(inputs, instruction_set_index(), wants_c=False, keep=False, mirror=column).h


def _parameters(encoders: Sequence[Sequence[Weights]]) -> list[Tensor]:
    return [part for layers in encoders for layer in layers for part in layer]


def _run(
    x: Tensor,
    offset: Tensor,
    encoders: Sequence[Sequence[Weights]],
    states: Sequence[State] | None,
    wants_c: bool,
) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
    parameters = _parameters(encoders)
    h_first, c_first = zip(*states, strict=True) if states else ((), ())
    layout = _Layout(len(encoders), len(parameters), bool(states), wants_c)
    tensors = (x, offset, *parameters, *h_first, *c_first)
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return layout.halves(_LSTM.apply(layout, *tensors))  # type: ignore[no-untyped-call]
    inputs = _checked(*layout.split(tensors))
    results = _forward(inputs, instruction_set_index(), wants_c, keep=False)
    return results.h, results.c


class _Layout(NamedTuple):
    """Of the flat list of tensors that autograd needs: x, offset, parameters, all h, all c."""

    num_encoders: int
    num_parameters: int
    has_states: bool
    wants_c: bool

    def split(
        self, tensors: Sequence[Tensor]
    ) -> tuple[Tensor, Tensor, Sequence[Tensor], Sequence[Tensor], Sequence[Tensor], int]:
        """The arguments of ``_checked``."""
        states = tensors[2 + self.num_parameters :]
        middle = len(states) // 2
        parameters = tensors[2 : 2 + self.num_parameters]
        return tensors[0], tensors[1], parameters, states[:middle], states[middle:], self.num_encoders

    def halves(self, results: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """Splits a list over all h and all c; the second half is empty if c was not asked for."""
        return results[: self.num_encoders], results[self.num_encoders :]


class _Inputs(NamedTuple):
    """Tensors of the right types and shapes. They must live until the library has read them."""

    sizes: tuple[int, int, int, int, int, int]
    """num_edges, num_rows, d_in, d, num_encoders, num_layers."""
    has_states: bool
    tensors: list[Tensor]
    """x, offset, parameters, all h, all c."""

    @property
    def state_shape(self) -> tuple[int, int, int]:
        """Of one encoder's h."""
        num_edges, _, _, d, _, num_layers = self.sizes
        return num_layers, num_edges, d

    def for_library(self) -> tuple[Any, ...]:
        """What both passes tell it after the number of threads."""
        return *self.sizes, self.has_states, pointers(self.tensors)


def _checked(
    x: Tensor,
    offset: Tensor,
    parameters: Sequence[Tensor],
    h: Sequence[Tensor],
    c: Sequence[Tensor],
    num_encoders: int,
) -> _Inputs:
    """ValueError for whatever the library can't read."""
    if not parameters or len(parameters) % (3 * num_encoders):
        raise ValueError(f"parameters must be w, u, b for each layer of each encoder (got {len(parameters)})")
    if len(h) != len(c) or len(h) not in (0, num_encoders):
        raise ValueError(f"states must be given for each encoder or for none (got {len(h)} of {num_encoders})")
    require_dimensions("x", x, 2)
    require_dimensions("u", parameters[1], 2)
    offset = offsets(offset)
    (num_rows, d_in), (_, d) = x.shape, parameters[1].shape
    if not d:
        raise ValueError("u must have at least one column (got none)")
    num_edges, num_layers = offset.numel() - 1, len(parameters) // (3 * num_encoders)
    tensors = [floats(x, "x", (num_rows, d_in)), offset]
    for tensor, name, shape in zip(parameters, *_parameter_shapes(d_in, d, num_encoders, num_layers), strict=True):
        tensors.append(floats(tensor, name, shape))
    state_shape = (num_layers, num_edges, d)
    tensors += [floats(state, "h", state_shape) for state in h]
    tensors += [floats(state, "c", state_shape) for state in c]
    return _Inputs((num_edges, num_rows, d_in, d, num_encoders, num_layers), bool(h), tensors)


@cache
def _parameter_shapes(
    d_in: int, d: int, num_encoders: int, num_layers: int
) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]:
    """Names and shapes of w, u, b of each layer of each encoder."""
    layers = [((4 * d, d if layer else d_in), (4 * d, d), (4 * d,)) for layer in range(num_layers)]
    shapes = tuple(shape for layer in layers for shape in layer) * num_encoders
    return ("w", "u", "b") * (num_encoders * num_layers), shapes


class _Results(NamedTuple):
    h: list[Tensor]
    c: list[Tensor]  # empty if not asked for
    saved: Tensor | None  # for the backward pass
    num_threads: int  # that the backward pass must plan for


def _forward(inputs: _Inputs, instruction_set: int, wants_c: bool, keep: bool, mirror: int = -1) -> _Results:
    number = inputs.sizes[4] * (1 if mirror < 0 else 2)
    new_empty, shape = inputs.tensors[0].new_empty, inputs.state_shape
    outputs = [new_empty(shape) for _ in range(2 * number if wants_c else number)]
    kept = library.Saved() if keep else None
    library.lstm_forward(
        *(instruction_set, torch.get_num_threads(), *inputs.for_library()),
        *(mirror, wants_c, pointers(outputs), kept if kept is None else byref(kept)),
    )
    h, c = outputs[:number], outputs[number:]
    if kept is None:
        return _Results(h, c, None, 0)
    return _Results(h, c, from_pool(kept.memory, kept.num_floats), kept.num_threads)


class _Gradients(NamedTuple):
    x: Tensor | None
    parameters: list[Tensor]
    states: list[Tensor]  # all h, all c; empty if not asked for


def _backward(
    inputs: _Inputs,
    instruction_set: int,
    saved: Tensor,
    num_threads: int,
    given: Sequence[Tensor | None],
    wants_x: bool,
    wants_states: bool,
) -> _Gradients:
    """From the gradients of all h and all c, None for zeros."""
    *_, num_encoders, num_layers = inputs.sizes
    saved = floats(saved, "saved", (saved.numel(),))
    given = [None if tensor is None else floats(tensor, "gradient", inputs.state_shape) for tensor in given]
    x, _, *rest = inputs.tensors
    result = _Gradients(
        torch.empty_like(x) if wants_x else None,
        [torch.empty_like(parameter) for parameter in rest[: 3 * num_encoders * num_layers]],
        [x.new_empty(inputs.state_shape) for _ in range(2 * num_encoders if wants_states else 0)],
    )
    library.lstm_backward(
        *(instruction_set, torch.get_num_threads(), *inputs.for_library()),
        *(byref(library.Saved(saved.data_ptr(), saved.numel(), num_threads)), pointers(given)),
        *(wants_states, pointers([result.x, *result.parameters, *result.states])),
    )
    return result


class _LSTM(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, layout: _Layout, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.layout, ctx.instruction_set = layout, instruction_set_index()
        ctx.set_materialize_grads(False)
        results = _forward(_checked(*layout.split(tensors)), ctx.instruction_set, layout.wants_c, keep=True)
        ctx.num_threads = results.num_threads
        ctx.save_for_backward(results.saved, *tensors)
        return (*results.h, *results.c)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Any, ...]:
        layout: _Layout = ctx.layout
        saved, *tensors = ctx.saved_tensors
        wants_x, wants_states = ctx.needs_input_grad[1], any(ctx.needs_input_grad[3 + layout.num_parameters :])
        dh, dc = layout.halves(gradients)
        dc = dc if layout.wants_c else (None,) * layout.num_encoders
        result = _backward(
            *(_checked(*layout.split(tensors)), ctx.instruction_set, saved, ctx.num_threads),
            *((*dh, *dc), wants_x, wants_states),
        )
        # None, not zeros, for an encoder whose results are unused: an optimiser must not update its weights.
        used = [of_h is not None or of_c is not None for of_h, of_c in zip(dh, dc, strict=True)]
        per_encoder = layout.num_parameters // layout.num_encoders
        of_parameters = [part if used[i // per_encoder] else None for i, part in enumerate(result.parameters)]
        of_states = [part if used[i % layout.num_encoders] else None for i, part in enumerate(result.states)]
        if not wants_states:
            of_states = [None] * (2 * layout.num_encoders * layout.has_states)
        return (None, result.x, None, *of_parameters, *of_states)
