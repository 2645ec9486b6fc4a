"""Who runs the LSTM: the compiled kernels where they can (``gtea.nn.compiled``), their twin in PyTorch elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from gtea.nn.compiled import kernels_for
from gtea.nn.encoders.ragged_lstm import LSTMState, LSTMWeights, ragged_lstm


def run_lstm(
    x: Tensor,
    offset: Tensor,
    encoders: Sequence[Sequence[LSTMWeights]],
    states: Sequence[LSTMState] | None = None,
) -> list[LSTMState]:
    """What each of some encoders of one shape knows after each history's last event, from zeros unless told."""
    compiled = kernels_for(x, encoders[0][0].b)
    if compiled is not None:
        first = None if states is None else [(state.h, state.c) for state in states]
        return [LSTMState(h, c) for h, c in compiled.lstm(x, offset, encoders, first)]
    if states is None:
        u = encoders[0][0].u
        zeros = u.new_zeros(len(encoders[0]), len(offset) - 1, u.shape[1])
        states = [LSTMState(zeros, zeros)] * len(encoders)
    return [ragged_lstm(x, offset, layers, state) for layers, state in zip(encoders, states, strict=True)]
