"""Who runs the LSTM: the compiled kernels where they can (``gtea.nn.compiled``), their twin in PyTorch elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from gtea.nn.compiled import kernels_for
from gtea.nn.encoders.ragged_lstm import LSTMState, LSTMWeights, ragged_lstm


def last_hidden(x: Tensor, offset: Tensor, encoders: Sequence[Sequence[LSTMWeights]]) -> list[Tensor]:
    """The top layer's h of each of some encoders of one shape after each history's last event, [num_edges, d]."""
    compiled = kernels_for(x, encoders[0][0].b)
    if compiled is not None:
        return [h[-1] for h in compiled.last_h(x, offset, encoders)]
    u = encoders[0][0].u
    zeros = u.new_zeros(len(encoders[0]), len(offset) - 1, u.shape[1])
    return [ragged_lstm(x, offset, layers, LSTMState(zeros, zeros)).h[-1] for layers in encoders]


def continue_lstm(x: Tensor, offset: Tensor, layers: Sequence[LSTMWeights], state: LSTMState) -> LSTMState:
    """What an encoder knows after more events."""
    compiled = kernels_for(x, layers[0].b)
    if compiled is not None:
        return LSTMState(*compiled.lstm(x, offset, [layers], [(state.h, state.c)])[0])
    return ragged_lstm(x, offset, layers, state)
