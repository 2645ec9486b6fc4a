"""Settings of a model: frozen dataclasses that are validated on creation.

This module does not import torch, so that a configuration can be read, printed and validated quickly.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from gtea.errors import UsageError

Family = Literal[
    "hybrid", "gtea", "gcn", "graphsage", "gat", "ecconv", "egnn", "tgat", "tree", "strong-tree", "edgebank"
]
Encoder = Literal["lstm", "transformer", "statistics"]
Attention = Literal["sparsemax", "softmax", "entmax15"]
LinkHead = Literal["dot", "pair", "ordered_pair"]

_MAX_SIZE = 2**16
_MAX_INPUTS = 2**24
"""Beyond what anybody trains. With these, the number of weights of a model fits into 64 bits."""


@dataclass(frozen=True)
class ModelConfig:
    """The architecture of a model: the options of the paper's grid and a few more.

    Beyond the paper: ``attention = "entmax15"``, ``link_head`` other than ``"dot"``, ``node_limit``, and time encoding
    together with the statistics encoder (which then also computes statistics of the time embedding).

    Not every family uses every setting. All networks use ``num_layers``, ``d_node``, ``d_mlp`` and ``dropout``, those
    with attention ``num_heads``, TGAT ``d_time``. Boosted trees and EdgeBank use none.
    """

    family: Family = "gtea"
    """Set by the name of the model (``gtea train --variant``), not by ``--set``."""
    encoder: Encoder = "lstm"
    """What turns a history into an edge embedding."""
    time_encoding: bool = True
    """Whether the encoder reads a learnt encoding of event times (Time2Vec)."""
    attention: Attention = "sparsemax"
    """How scores of neighbours become weights. Sparsemax and entmax15 can give exactly zero."""
    num_layers: int = 2
    """The number of aggregation layers (L in the paper), which is the number of hops a node sees."""
    d_node: int = 64
    """Size of a node embedding."""
    d_edge: int = 64
    """Size of an edge embedding. The statistics encoder ignores it: its size is four per event feature."""
    num_encoder_layers: int = 1
    """The number of layers of the LSTM or Transformer."""
    num_heads: int = 4
    """The number of attention heads, in the Transformer, GAT and TGAT."""
    d_time: int = 16
    """Size of a time embedding, l + 1 in the paper: one linear part, the rest periodic."""
    d_mlp: int = 64
    """Hidden size of every MLP."""
    dropout: float = 0.0
    """Share of hidden units dropped in every MLP while training."""
    node_limit: float = 0.0
    """Node features are clipped to this many standard deviations; 0 means no limit. Histories grow after the training
    window, and a network extrapolates linearly."""
    link_head: LinkHead = "dot"
    """How a pair is scored: by the dot product of both embeddings, or by an MLP that also reads the pair's history."""

    def __post_init__(self) -> None:
        require_one_of("model.family", self.family, get_args(Family))
        require_one_of("model.encoder", self.encoder, get_args(Encoder))
        require_one_of("model.attention", self.attention, get_args(Attention))
        require_one_of("model.link_head", self.link_head, get_args(LinkHead))
        _require_range("model.num_layers", self.num_layers, 1, 3)
        _require_range("model.num_encoder_layers", self.num_encoder_layers, 1, 3)
        for name in ("d_node", "d_edge", "num_heads", "d_mlp"):
            _require_range(f"model.{name}", getattr(self, name), 1, _MAX_SIZE)
        _require_range("model.d_time", self.d_time, 2, _MAX_SIZE)
        if not 0 <= self.dropout < 1:
            raise UsageError(f"model.dropout must be at least 0 and below 1 (got {self.dropout}). Try 0.1.")
        if not 0 <= self.node_limit < float("inf"):
            raise UsageError(f"model.node_limit must be at least 0 and finite (got {self.node_limit}). Try 2.")
        if self.reads_histories and self.encoder == "transformer":
            self._require_heads_to_divide("d_edge")
        if self.family in ("gat", "tgat"):
            self._require_heads_to_divide("d_node")
        if self.family == "tgat" and self.d_time % 2:
            raise UsageError(
                f"model.d_time must be even for tgat, which has a cosine and a sine per frequency (got {self.d_time}). "
                f"Try {self.d_time + 1}."
            )
        if not self.reads_histories and self.link_head != "dot":
            raise UsageError(
                f"model.link_head must be 'dot' for {self.family}, which has no embedding of a pair's history "
                f"(got {self.link_head!r}). Leave it out."
            )

    @property
    def reads_histories(self) -> bool:
        """Whether the model is GTEA, alone or in a hybrid."""
        return self.family in ("gtea", "hybrid")

    def _require_heads_to_divide(self, name: str) -> None:
        size = getattr(self, name)
        if size % self.num_heads:
            fitting = -(-size // self.num_heads) * self.num_heads
            raise UsageError(
                f"model.num_heads must divide model.{name} (got {self.num_heads} and {size}). Try {name} = {fitting}."
            )


@dataclass(frozen=True)
class InputSpec:
    """The properties of the data that a model is built for: the sizes of its inputs and the range of time periods.

    Periods are in units of the scaled time. They only set the initial frequencies of the time encoding.
    """

    d_node_features: int
    d_event_features: int
    shortest_period: float
    longest_period: float
    d_pair_statistics: int = 0
    d_head_inputs: int = 0
    d_neighbour_labels: int = 0
    """How many of the head inputs are neighbour labels. These are the last ones."""
    d_tree_inputs: int = 0
    """The number of columns that the trees of a hybrid read. 0 for a model of gtea 0.1: all node features and neighbour
    labels."""
    d_own_features: int = 0
    """How many of these are an account's own: neither of partners, nor of rhythm, nor neighbour labels. These are the
    first ones. 0 if all are; then a hybrid has one set of trees instead of two."""

    def __post_init__(self) -> None:
        for name in ("d_node_features", "d_event_features", "d_pair_statistics", "d_neighbour_labels"):
            _require_range(f"input.{name}", getattr(self, name), 0, _MAX_INPUTS)
        _require_range("input.d_head_inputs", self.d_head_inputs, self.d_neighbour_labels, _MAX_INPUTS)
        _require_range("input.d_tree_inputs", self.d_tree_inputs, 0, _MAX_INPUTS)
        _require_range("input.d_own_features", self.d_own_features, 0, self.d_tree_inputs)
        if not 0 < self.shortest_period <= self.longest_period < float("inf"):
            raise UsageError(
                "input.shortest_period must be above 0 and at most input.longest_period "
                f"(got {self.shortest_period} and {self.longest_period}). "
                "Use a minute and the length of the training window, in units of the scaled time."
            )


def require_one_of(subject: str, value: str, choices: Sequence[str]) -> None:
    """Raise if a value is not one of the choices, and suggest the closest one."""
    if value in choices:
        return
    near = difflib.get_close_matches(str(value), choices, n=1)
    remedy = f"Did you mean {near[0]!r}?" if near else f"Try {choices[0]!r}."
    raise UsageError(f"{subject} must be one of {', '.join(map(repr, choices))} (got {value!r}). {remedy}")


def _require_range(subject: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise UsageError(f"{subject} must be from {low} to {high} (got {value}). Try {min(max(value, low), high)}.")
