"""The edge encoder: from the events of an edge to its embedding and its attention logit."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gtea.config import InputSpec, ModelConfig
from gtea.errors import UsageError
from gtea.nn.batch import Histories
from gtea.nn.encoders.lstm import LSTMEncoder
from gtea.nn.encoders.sequence_encoder import SequenceEncoder
from gtea.nn.encoders.statistics_encoder import StatisticsEncoder
from gtea.nn.encoders.transformer import TransformerEncoder
from gtea.nn.linear import uniform
from gtea.nn.time2vec import Time2Vec


class EdgeEncoder(nn.Module):
    """Eq. 1 to 4: e_tilde by Enc_i and the attention logit by Enc_a.

    e_hat^k = [tau(t^k) || f^k]  (without time encoding: f^k)
    e_tilde = Enc_i([e_hat^1, .., e_hat^S])
    alpha_tilde = a . h,  h = Enc_a([e_hat^1, .., e_hat^S])

    Enc_i and Enc_a have the same architecture and separate parameters. They share one Time2Vec: the paper defines e_hat
    once, and both encoders read it. There is no leaky ReLU on the logit.
    """

    def __init__(self, config: ModelConfig, spec: InputSpec, generator: torch.Generator) -> None:
        super().__init__()
        d_in = spec.d_event_features + config.d_time * config.time_encoding
        if not d_in:
            raise UsageError(
                "model.time_encoding must be true if events have no features (got false and 0 features). "
                "Set model.time_encoding = true or name a feature column."
            )
        self.time2vec = (
            Time2Vec(config.d_time, spec.shortest_period, spec.longest_period, generator)
            if config.time_encoding
            else None
        )
        self.enc_i = sequence_encoder(config, d_in, generator)
        self.enc_a = sequence_encoder(config, d_in, generator)
        self.a = uniform(self.enc_a.d_edge, bound=self.enc_a.d_edge**-0.5, generator=generator)

    @property
    def d_edge(self) -> int:
        """The size of an edge embedding."""
        return self.enc_i.d_edge

    def forward(self, histories: Histories) -> tuple[Tensor, Tensor]:
        """e_tilde [num_edges, d_edge] and alpha_tilde [num_edges]."""
        e_tilde, h = self.enc_i.encode_both(self.enc_a, self.e_hat(histories), histories.offset)
        return e_tilde, h @ self.a

    def embed(self, histories: Histories) -> Tensor:
        """e_tilde alone, for callers that do not need the attention logit."""
        e_tilde: Tensor = self.enc_i(self.e_hat(histories), histories.offset)
        return e_tilde

    def attention_logits(self, histories: Histories) -> Tensor:
        """alpha_tilde alone: shows which edges get weight zero before they are embedded."""
        logits: Tensor = self.enc_a(self.e_hat(histories), histories.offset) @ self.a
        return logits

    def e_hat(self, histories: Histories) -> Tensor:
        """The encoders' input, [num_events, d_in], in the model's precision."""
        f = histories.features.to(self.a.dtype)
        return f if self.time2vec is None else self.time2vec.concatenate(f, histories.time)


def sequence_encoder(config: ModelConfig, d_in: int, generator: torch.Generator) -> SequenceEncoder:
    """The sequence encoder named by the configuration."""
    match config.encoder:
        case "lstm":
            return LSTMEncoder(d_in, config.d_edge, config.num_encoder_layers, generator)
        case "transformer":
            return TransformerEncoder(d_in, config.d_edge, config.num_encoder_layers, config.num_heads, generator)
        case "statistics":
            return StatisticsEncoder(d_in)
