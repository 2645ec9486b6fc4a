"""GTEA_L: an LSTM over an edge's history.

The LSTM runs in the compiled kernels (``gtea.nn.kernels``) if they are available, else in PyTorch
(``gtea.nn.encoders.ragged_lstm``).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from gtea.nn.encoders.ragged_lstm import LSTMState, LSTMWeights, ragged_lstm
from gtea.nn.encoders.sequence_encoder import SequenceEncoder
from gtea.nn.kernels import kernels_for
from gtea.nn.linear import uniform


class LSTMEncoder(SequenceEncoder):
    """Enc as an LSTM of one to three layers; e_tilde is the top layer's last hidden state (Appendix 2.1).

    i[k] = sigmoid(W_i e^k + U_i h[k-1] + b_i)        c[k] = f[k] * c[k-1] + i[k] * c_bar[k]
    f[k] = sigmoid(W_f e^k + U_f h[k-1] + b_f)        o[k] = sigmoid(W_o e^k + U_o h[k-1] + b_o)
    c_bar[k] = tanh(W_c e^k + U_c h[k-1] + b_c)       h[k] = o[k] * tanh(c[k])

    The next layer reads h[k] instead of e^k. The state before the first event is zero.
    """

    def __init__(self, d_in: int, d_edge: int, num_encoder_layers: int, generator: torch.Generator) -> None:
        super().__init__()
        self.d_edge = d_edge
        self.w, self.u, self.b = nn.ParameterList(), nn.ParameterList(), nn.ParameterList()
        bound = d_edge**-0.5
        for level in range(num_encoder_layers):
            d_below = d_edge if level else d_in
            self.w.append(uniform(4 * d_edge, d_below, bound=bound, generator=generator))
            self.u.append(uniform(4 * d_edge, d_edge, bound=bound, generator=generator))
            self.b.append(uniform(4 * d_edge, bound=bound, generator=generator))

    def forward(self, e_hat: Tensor, offset: Tensor) -> Tensor:
        """The top layer's h after the last event of each history, [num_edges, d_edge]."""
        return _last_hidden(e_hat, offset, [self._layers()])[0]

    def encode_both(self, other: SequenceEncoder, e_hat: Tensor, offset: Tensor) -> tuple[Tensor, Tensor]:
        """Run both encoders in one pass over the events."""
        assert isinstance(other, LSTMEncoder)
        first, second = _last_hidden(e_hat, offset, [self._layers(), other._layers()])
        return first, second

    def initial_state(self, num_edges: int) -> LSTMState:
        """The zero state of edges without events."""
        zeros = self.b[0].new_zeros(len(self.b), num_edges, self.d_edge)
        return LSTMState(zeros, zeros)

    def advance(self, e_hat: Tensor, offset: Tensor, state: LSTMState) -> LSTMState:
        """The state after more events.

        Reading events 1..k and then k+1..n from the state after k is the same as reading 1..n at once. A new event
        costs one step, however long the history is.
        """
        return _continue(e_hat, offset, self._layers(), state)

    def _layers(self) -> list[LSTMWeights]:
        return [LSTMWeights(*layer) for layer in zip(self.w, self.u, self.b, strict=True)]


def _last_hidden(x: Tensor, offset: Tensor, encoders: Sequence[Sequence[LSTMWeights]]) -> list[Tensor]:
    """The top layer's h after the last event of each history, [num_edges, d], for each of several equal encoders."""
    compiled = kernels_for(x, encoders[0][0].b)
    if compiled is not None:
        return [h[-1] for h in compiled.last_h(x, offset, encoders)]
    u = encoders[0][0].u
    zeros = u.new_zeros(len(encoders[0]), len(offset) - 1, u.shape[1])
    return [ragged_lstm(x, offset, layers, LSTMState(zeros, zeros)).h[-1] for layers in encoders]


def _continue(x: Tensor, offset: Tensor, layers: Sequence[LSTMWeights], state: LSTMState) -> LSTMState:
    """The state of an encoder after more events."""
    compiled = kernels_for(x, layers[0].b)
    if compiled is not None:
        return LSTMState(*compiled.lstm(x, offset, [layers], [(state.h, state.c)])[0])
    return ragged_lstm(x, offset, layers, state)
