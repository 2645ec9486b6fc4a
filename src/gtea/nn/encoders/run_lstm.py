"""Who runs the LSTM: the compiled kernels where they can (``gtea.nn.compiled``), their twin in PyTorch elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from gtea.nn.compiled import kernels_for
from gtea.nn.encoders.ragged_lstm import LSTMState, LSTMWeights, ragged_lstm
from gtea.nn.encoders.sequence_encoder import mirrored


def last_hidden(x: Tensor, offset: Tensor, encoders: Sequence[Sequence[LSTMWeights]]) -> list[Tensor]:
    """The top layer's h of each of some encoders of one shape after each history's last event, [num_edges, d]."""
    compiled = kernels_for(x, encoders[0][0].b)
    if compiled is not None:
        return [h[-1] for h in compiled.last_h(x, offset, encoders)]
    u = encoders[0][0].u
    zeros = u.new_zeros(len(encoders[0]), len(offset) - 1, u.shape[1])
    return [ragged_lstm(x, offset, layers, LSTMState(zeros, zeros)).h[-1] for layers in encoders]


def last_hidden_mirrored(
    x: Tensor, offset: Tensor, encoders: Sequence[Sequence[LSTMWeights]], column: int
) -> list[Tensor]:
    """``last_hidden`` of x and, behind it, of x with one column negated. Without gradients."""
    compiled = kernels_for(x, encoders[0][0].b)
    if compiled is not None:
        return [h[-1] for h in compiled.last_h_mirrored(x, offset, encoders, column)]
    return [*last_hidden(x, offset, encoders), *last_hidden(mirrored(x, column), offset, encoders)]


def continue_lstm(x: Tensor, offset: Tensor, layers: Sequence[LSTMWeights], state: LSTMState) -> LSTMState:
    """What an encoder knows after more events."""
    compiled = kernels_for(x, layers[0].b)
    if compiled is not None:
        return LSTMState(*compiled.lstm(x, offset, [layers], [(state.h, state.c)])[0])
    return ragged_lstm(x, offset, layers, state)
