"""Heads: from node embeddings to logits. The loss or the caller applies softmax or sigmoid.

``SoftBins`` encodes ranks as bins that fill up one after the other. A linear map of them can bend at any bin, as a tree
can split at any value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from gtea.config import ModelConfig
from gtea.nn.linear import MLP, linear, zero_init

NUM_BINS = 16
_NUM_HOPS = 2
"""Neighbour labels are given one hop (near) and two hops (next) away."""
_VOTE_SCALE = 4.0
"""Scales the votes: few weights that start at zero must take effect in the few steps that a small data set allows."""


class NodeHead(nn.Module):
    """Eq. 8: y_u = softmax(MLP_3(z_u)), for any number of classes.

    Beyond the paper, with head inputs (rank inputs and neighbour labels): MLP_3([z_u || soft bins of the inputs]), so
    that an account's own features need not pass through the layers. With neighbour labels, the last of the head inputs
    (``gtea.features.neighbour_labels``), each class also gets a vote: logit_c + 4 * soft bins of (near_c, next_c). All
    classes share the weights of the vote, so a class with a handful of examples benefits from all others.
    """

    def __init__(
        self,
        config: ModelConfig,
        num_classes: int,
        generator: torch.Generator,
        d_head_inputs: int = 0,
        d_neighbour_labels: int = 0,
    ) -> None:
        super().__init__()
        self.bins = SoftBins(d_head_inputs, config.d_mlp, generator) if d_head_inputs else None
        d_in = config.d_node + (config.d_mlp if d_head_inputs else 0)
        self.mlp_3 = MLP(d_in, config.d_mlp, num_classes, config.dropout, generator)
        self.vote = SoftBins(_NUM_HOPS, 1, generator) if d_neighbour_labels else None
        if self.vote is not None:
            zero_init(self.vote.into)

    def forward(self, z: Tensor, head_inputs: Tensor | None = None) -> Tensor:
        """Class logits, [num_nodes, num_classes]."""
        if self.bins is not None:
            assert head_inputs is not None, "the model was built with head inputs"
            z = torch.cat([z, torch.relu(self.bins(head_inputs.to(z.dtype)))], dim=-1)
        logits: Tensor = self.mlp_3(z)
        if self.vote is None:
            return logits
        assert head_inputs is not None, "the model was built with neighbour labels"
        shares = head_inputs[:, -_NUM_HOPS * logits.shape[1] :].to(z.dtype).reshape(len(z), _NUM_HOPS, logits.shape[1])
        votes: Tensor = self.vote(shares.transpose(1, 2).flatten(0, 1))
        return logits + _VOTE_SCALE * votes.view_as(logits)


class LinkHead(nn.Module, ABC):
    """Link logits of pairs, from their embeddings and possibly their own histories and statistics."""

    reads_history: bool
    """Whether the head reads e_tilde. If not, the pairs' histories need not be read and encoded."""

    @abstractmethod
    def forward(
        self, z_u: Tensor, z_v: Tensor, e_tilde: Tensor | None = None, statistics: Tensor | None = None
    ) -> Tensor:
        """Link logits, [num_pairs].

        Args:
            e_tilde: The embedding of each pair's own history, [num_pairs, d_edge]; zeros for a pair without events, as
                every encoder gives for an empty history.
            statistics: Ranks of each pair's statistics, [num_pairs, d_statistics]; None if the model reads none.
        """


class DotHead(LinkHead):
    """Eq. 9: y_uv = sigmoid(z_u . z_v)."""

    reads_history = False

    def forward(
        self, z_u: Tensor, z_v: Tensor, e_tilde: Tensor | None = None, statistics: Tensor | None = None
    ) -> Tensor:
        """z_u . z_v."""
        return (z_u * z_v).sum(-1)


class PairHead(LinkHead):
    """The dot product plus an MLP that also reads the pair's own history and statistics.

    logit = z_u . z_v + MLP([pair || e_tilde_uv || statistics])
    pair = [z_u + z_v || z_u * z_v], or [z_u || z_v] if the order matters

    Departs from the paper: Eq. 9 alone learns slowly. It reads neither the pair's own history nor its statistics, such
    as the number of events, their recency and common neighbours. Statistics are encoded as soft bins.
    """

    reads_history = True

    def __init__(
        self, config: ModelConfig, d_edge: int, d_statistics: int, ordered: bool, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.ordered = ordered
        self.bins = SoftBins(d_statistics, config.d_mlp, generator) if d_statistics else None
        d_bins = config.d_mlp if d_statistics else 0
        self.mlp = MLP(2 * config.d_node + d_edge + d_bins, config.d_mlp, 1, config.dropout, generator)

    def forward(
        self, z_u: Tensor, z_v: Tensor, e_tilde: Tensor | None = None, statistics: Tensor | None = None
    ) -> Tensor:
        """z_u . z_v + MLP([pair || e_tilde_uv || statistics])."""
        assert e_tilde is not None, "the head reads histories"
        inputs = [z_u, z_v] if self.ordered else [z_u + z_v, z_u * z_v]
        inputs.append(e_tilde)
        if self.bins is not None:
            assert statistics is not None, "the model was built with pair statistics"
            inputs.append(torch.relu(self.bins(statistics.to(e_tilde.dtype))))
        correction: Tensor = self.mlp(torch.cat(inputs, dim=-1))
        return (z_u * z_v).sum(-1) + correction.squeeze(-1)


def link_head(config: ModelConfig, d_edge: int, d_statistics: int, generator: torch.Generator) -> LinkHead:
    """The link head named by the configuration."""
    match config.link_head:
        case "dot":
            return DotHead()
        case "pair":
            return PairHead(config, d_edge, d_statistics, False, generator)
        case "ordered_pair":
            return PairHead(config, d_edge, d_statistics, True, generator)


class SoftBins(nn.Module):
    """A linear map of piecewise linear encodings (Gorishniy et al., 2022).

    Bin b of a rank r in [0, 1] has the value clamp(B r - b, 0, 1), b = 0 .. B - 1: 1 below r and 0 above.
    """

    def __init__(self, num_columns: int, d_out: int, generator: torch.Generator) -> None:
        super().__init__()
        self.into = linear(num_columns * NUM_BINS, d_out, generator)

    def forward(self, ranks: Tensor) -> Tensor:
        """Map ranks [num_rows, num_columns] to [num_rows, d_out]."""
        bins = torch.arange(NUM_BINS, device=ranks.device, dtype=ranks.dtype)
        filled = (NUM_BINS * ranks[:, :, None] - bins).clamp(0, 1)
        mapped: Tensor = self.into(filled.flatten(1))
        return mapped
