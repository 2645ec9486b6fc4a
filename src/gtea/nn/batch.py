"""The interface between sampling and nn: everything that a network reads.

Nodes are in the order of their discovery from the seeds, so the nodes within h hops are a prefix of length
``num_within[h]``. A node's neighbours are sampled once and serve every layer: layer l = 1..L updates the first
``num_within[L - l]`` nodes from the first ``num_within[L - l + 1]``. Sent and received depend on the end from which an
edge is seen, so an edge has a history for each end that aggregates over it. Each is encoded once, however often it
appears.

``Slots`` is what the layers iterate over: one slot per target and neighbour, ordered by target and never padded.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor

from gtea.nn.segments import segment_ids


@dataclass(frozen=True)
class Histories:
    """Ragged event sequences, concatenated and never padded. History i is rows offset[i] : offset[i + 1]."""

    offset: Tensor  # int64 [num_edges + 1]
    time: Tensor  # float32 [num_events], scaled: (t - origin) / unit
    features: Tensor  # float32 [num_events, d_event], scaled; only the column SENT depends on the end

    @property
    def num_edges(self) -> int:
        """The number of histories."""
        return len(self.offset) - 1

    @property
    def num_events(self) -> int:
        """The total number of events."""
        return len(self.time)

    def to(self, device: torch.device | str) -> Histories:
        """Copy the histories to a device."""
        return Histories(*(getattr(self, field.name).to(device) for field in dataclasses.fields(self)))


@dataclass(frozen=True)
class Batch:
    """Seeds, their sampled subgraph, and the histories of its edges."""

    num_within: tuple[int, ...]  # nodes within 0, 1, .., L hops; num_within[0] is the number of seeds
    node_features: Tensor  # float32 [num_within[L], d_node]
    neighbour: Tensor  # int64 [num_within[L - 1], K]: index of the neighbour among the nodes, padded with -1
    edge: Tensor  # int64 [num_within[L - 1], K]: index of the history, padded with -1
    histories: Histories
    degree: Tensor | None = None  # int64 [num_within[L]]: number of neighbours before the cut; None if not read
    head_inputs: Tensor | None = None  # float32 [num_within[0], d_head_inputs]: read by the head alone
    tree_inputs: Tensor | None = None  # float32 [num_within[0], d_tree_inputs]: read by the trees of a hybrid

    @property
    def num_layers(self) -> int:
        """The number of layers, which is the number of sampled hops."""
        return len(self.num_within) - 1

    @property
    def num_events(self) -> int:
        """The total number of events in the histories."""
        return self.histories.num_events

    def to(self, device: torch.device | str) -> Batch:
        """Copy the batch to a device."""
        return dataclasses.replace(
            self,
            degree=None if self.degree is None else self.degree.to(device),
            head_inputs=None if self.head_inputs is None else self.head_inputs.to(device),
            tree_inputs=None if self.tree_inputs is None else self.tree_inputs.to(device),
            node_features=self.node_features.to(device),
            neighbour=self.neighbour.to(device),
            edge=self.edge.to(device),
            histories=self.histories.to(device),
        )


@dataclass(frozen=True)
class EventBatch:
    """Queries (node, time), single events before each, and the queries that these events lead to.

    A query is a node just before an instant. The seeds are queried at the cut. Each event sampled for a query leads to
    another query: the neighbour, just before the event. Queries are ordered by hop, so those within h hops are a prefix
    of length ``num_within[h]``, and layer l updates the first ``num_within[L - l]``.
    """

    num_within: tuple[int, ...]  # queries within 0, 1, .., L hops; num_within[0] is the number of seeds
    node_features: Tensor  # float32 [num_within[L], d_node]: of each query's node, as of the cut
    reached: Tensor  # int64 [num_within[L - 1], K]: index of the query that an event leads to, padded with -1
    age: Tensor  # float32 [num_within[L - 1], K]: time from the event to the query, scaled, padded with 0
    event_features: Tensor  # float32 [num_within[L - 1], K, d_event], padded with 0
    head_inputs: Tensor | None = None  # float32 [num_within[0], d_head_inputs]: read by the head alone

    @property
    def num_events(self) -> int:
        """The number of sampled events."""
        return int((self.reached >= 0).sum())

    def to(self, device: torch.device | str) -> EventBatch:
        """Copy the batch to a device."""
        return dataclasses.replace(
            self,
            node_features=self.node_features.to(device),
            reached=self.reached.to(device),
            age=self.age.to(device),
            event_features=self.event_features.to(device),
            head_inputs=None if self.head_inputs is None else self.head_inputs.to(device),
        )


@dataclass(frozen=True)
class PairBatch:
    """Pairs of nodes: the batch of their distinct ends, and the index of each pair's ends in it."""

    batch: Batch | EventBatch
    src: Tensor  # int64 [num_pairs]: index among the seeds
    dst: Tensor  # int64 [num_pairs]: index among the seeds
    histories: Histories | None = None  # the pairs' own, seen from src; empty without events; None if not read
    statistics: Tensor | None = None  # float32 [num_pairs, d_pair_statistics]: ranks; None if not read

    @property
    def num_events(self) -> int:
        """The total number of events, including those of the pairs' own histories."""
        return self.batch.num_events + (0 if self.histories is None else self.histories.num_events)

    def to(self, device: torch.device | str) -> PairBatch:
        """Copy the batch to a device."""
        histories = None if self.histories is None else self.histories.to(device)
        statistics = None if self.statistics is None else self.statistics.to(device)
        return PairBatch(self.batch.to(device), self.src.to(device), self.dst.to(device), histories, statistics)


@dataclass(frozen=True)
class Slots:
    """Target ``target[i]`` aggregates node ``neighbour[i]`` over edge ``edge[i]`` with weight ``alpha[i]``."""

    target: Tensor  # int64 [num_slots], ascending
    neighbour: Tensor  # int64 [num_slots], a row of z
    edge: Tensor  # int64 [num_slots], a row of e_tilde
    alpha: Tensor  # [num_slots]

    @classmethod
    def of_batch(cls, batch: Batch, alpha: Tensor) -> Slots:
        """The slots of a mini-batch.

        Slots of weight zero are left out. They contribute nothing, and sparse normalisers pass no gradient to them: the
        result is the same, and MLP_1 does not read the neighbours that the attention discards.

        Args:
            alpha: Weights of the neighbours, zero in the padding, [num_targets, K].
        """
        # Not "> 0": NaN must propagate to the output.
        target, column = ((alpha != 0) & (batch.edge >= 0)).nonzero(as_tuple=True)
        return cls(target, batch.neighbour[target, column], batch.edge[target, column], alpha[target, column])

    @classmethod
    def of_graph(cls, offset: Tensor, neighbour: Tensor, edge: Tensor, alpha: Tensor) -> Slots:
        """The slots of a whole graph, or of consecutive targets; those of weight zero are left out.

        Args:
            offset: Target i owns slots offset[i] : offset[i + 1], int64 [num_targets + 1].
        """
        kept = (alpha != 0).nonzero().squeeze(1)
        target = segment_ids(offset, len(alpha))
        return cls(target[kept], neighbour[kept], edge[kept], alpha[kept])

    def first(self, num_targets: int) -> Slots:
        """The slots of the first ``num_targets`` targets."""
        end = int((self.target < num_targets).sum())
        return self.part(slice(end))

    def part(self, some: slice) -> Slots:
        """Some of the slots."""
        return Slots(self.target[some], self.neighbour[some], self.edge[some], self.alpha[some])
