"""From node embeddings to answers, as logits: the loss and the caller apply softmax or sigmoid."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from gtea.config import ModelConfig
from gtea.nn.linear import MLP, begin_at_zero, linear

_REACHES = 2
"""How far away known classes are looked up: near, and next to those."""

_LOUDNESS = 4.0
"""Of votes: few weights that start at zero have to be heard within the few steps that few examples make."""

NUM_BINS = 16


class NodeHead(nn.Module):
    """Eq. 8: y_u = softmax(MLP_3(z_u)), for any number of classes.

    Beyond the paper, where nodes come with ranks of their own features: MLP_3([z_u || soft bins of the ranks]), so that
    what a tree would see of the account alone need not go through the layers. Where the last of them tell which classes
    are known around the node (``gtea.features.neighbour_labels``), each class also gets a vote that is counted alike for all:
    logit_c + 4 * soft bins of (near_c, next_c), so that a class of a handful of examples profits from all others.
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
        self.vote = SoftBins(_REACHES, 1, generator) if d_neighbour_labels else None
        if self.vote is not None:
            begin_at_zero(self.vote.into)

    def forward(self, z: Tensor, head_inputs: Tensor | None = None) -> Tensor:
        """Class logits, [num_nodes, num_classes]."""
        if self.bins is not None:
            assert head_inputs is not None, "the model was built for nodes with ranks"
            z = torch.cat([z, torch.relu(self.bins(head_inputs.to(z.dtype)))], dim=-1)
        logits: Tensor = self.mlp_3(z)
        if self.vote is None:
            return logits
        assert head_inputs is not None, "the model was built for nodes with known classes around them"
        around = head_inputs[:, -_REACHES * logits.shape[1] :].to(z.dtype).reshape(len(z), _REACHES, logits.shape[1])
        votes: Tensor = self.vote(around.transpose(1, 2).flatten(0, 1))
        return logits + _LOUDNESS * votes.view_as(logits)


class LinkHead(nn.Module, ABC):
    """How likely two nodes are to meet, from their embeddings and perhaps their own history."""

    reads_history: bool
    """Whether e_tilde is looked at; where not, nobody needs to fetch and encode the pairs' histories."""

    @abstractmethod
    def forward(
        self, z_u: Tensor, z_v: Tensor, e_tilde: Tensor | None = None, statistics: Tensor | None = None
    ) -> Tensor:
        """Link logits, [num_pairs].

        Args:
            e_tilde: The embedding of each pair's own history, [num_pairs, d_edge]; zeros for a pair without one,
                which is what every encoder makes of an empty history.
            statistics: Ranks of each pair's statistics, [num_pairs, d_statistics]; None where the model has none.
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
    """The dot product plus an MLP that also sees what the two have done together.

    logit = z_u . z_v + MLP([pair || e_tilde_uv || statistics])
    pair = [z_u + z_v || z_u * z_v], or [z_u || z_v] where the order counts

    Departs from the paper: Eq. 9 alone learns slowly and can't see the pair's own history, nor what a tree sees at a
    glance: how often and how lately the two met, and whom they have in common. Such statistics come as soft bins.
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
        assert e_tilde is not None, "reads_history says that histories are needed"
        known = [z_u, z_v] if self.ordered else [z_u + z_v, z_u * z_v]
        known.append(e_tilde)
        if self.bins is not None:
            assert statistics is not None, "the model was built for pairs with statistics"
            known.append(torch.relu(self.bins(statistics.to(e_tilde.dtype))))
        more: Tensor = self.mlp(torch.cat(known, dim=-1))
        return (z_u * z_v).sum(-1) + more.squeeze(-1)


def link_head(config: ModelConfig, d_edge: int, d_statistics: int, generator: torch.Generator) -> LinkHead:
    """The head that the configuration names."""
    match config.link_head:
        case "dot":
            return DotHead()
        case "pair":
            return PairHead(config, d_edge, d_statistics, False, generator)
        case "ordered_pair":
            return PairHead(config, d_edge, d_statistics, True, generator)


class SoftBins(nn.Module):
    """A linear map of piecewise linear encodings (Gorishniy et al., 2022).

    Bin b of a rank r in [0, 1] holds clamp(B r - b, 0, 1), b = 0 .. B - 1: those below are full, those above empty.
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
