"""The contract between sampling and nn: what the model gets, and all it gets.

Nodes stand in the order of their discovery from the seeds, so that the nodes within h hops are a prefix of length
``num_within[h]``. A node's neighbourhood is sampled once and serves every layer: layer l = 1..L updates the first
``num_within[L - l]`` nodes from the first ``num_within[L - l + 1]``. An edge is named together with the end that looks
at it (sent and received change sides), and each such edge is encoded once, however often it appears.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor

from gtea.nn.segments import run_of_rows


@dataclass(frozen=True)
class Histories:
    """Ragged event sequences, one after the other, never padded. History i is rows offset[i] : offset[i + 1]."""

    offset: Tensor  # int64 [num_edges + 1]
    time: Tensor  # float32 [num_events], scaled: (t - the pair's first) / unit
    features: Tensor  # float32 [num_events, d_event], scaled; all but SENT is the same whichever end looks

    @property
    def num_edges(self) -> int:
        """How many histories there are."""
        return len(self.offset) - 1

    @property
    def num_events(self) -> int:
        """How many events they hold in all."""
        return len(self.time)

    def to(self, device: torch.device | str) -> Histories:
        """The same histories on another device."""
        return Histories(*(getattr(self, field.name).to(device) for field in dataclasses.fields(self)))


@dataclass(frozen=True)
class Batch:
    """Seeds, their sampled full_subgraph, and the histories of the edges between them."""

    num_within: tuple[int, ...]  # nodes within 0, 1, .., L hops; num_within[0] is the number of seeds
    node_features: Tensor  # float32 [num_within[L], d_node]
    neighbour: Tensor  # int64 [num_within[L - 1], K]: place of the neighbour among the nodes, -1 where there is none
    edge: Tensor  # int64 [num_within[L - 1], K]: which history, -1 where there is no neighbour
    histories: Histories
    degree: Tensor | None = None  # int64 [num_within[L]]: neighbours before the cut, sampled or not; None if not asked
    head_inputs: Tensor | None = (
        None  # float32 [num_within[0], d_head_inputs]: what the head alone is told; None if nothing
    )

    @property
    def num_layers(self) -> int:
        """How many layers the sampled hops feed."""
        return len(self.num_within) - 1

    @property
    def num_events(self) -> int:
        """How many events its histories hold."""
        return self.histories.num_events

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on another device."""
        return dataclasses.replace(
            self,
            degree=None if self.degree is None else self.degree.to(device),
            head_inputs=None if self.head_inputs is None else self.head_inputs.to(device),
            node_features=self.node_features.to(device),
            neighbour=self.neighbour.to(device),
            edge=self.edge.to(device),
            histories=self.histories.to(device),
        )


@dataclass(frozen=True)
class EventBatch:
    """Queries (node, time), the single events before each, and the queries that those lead to.

    A query stands for a node just before a moment. The seeds ask at the cut; each event chosen for a query leads to
    another one, which asks for the node at its other end just before the event. Queries stand hop after hop, so that
    those within h hops are a prefix of length ``num_within[h]``, and layer l renews the first ``num_within[L - l]``.
    """

    num_within: tuple[int, ...]  # queries within 0, 1, .., L hops; num_within[0] is the number of seeds
    node_features: Tensor  # float32 [num_within[L], d_node]: of each query's node, as of the cut
    reached: Tensor  # int64 [num_within[L - 1], K]: place of the query that an event leads to, -1 where there is none
    age: Tensor  # float32 [num_within[L - 1], K]: how long before the query the event was, scaled; 0 where none
    event_features: Tensor  # float32 [num_within[L - 1], K, d_event]; zeros where there is none
    head_inputs: Tensor | None = (
        None  # float32 [num_within[0], d_head_inputs]: what the head alone is told; None if nothing
    )

    @property
    def num_events(self) -> int:
        """How many events it holds."""
        return int((self.reached >= 0).sum())

    def to(self, device: torch.device | str) -> EventBatch:
        """The same batch on another device."""
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
    """Pairs of nodes: the batch of their distinct ends, and where each pair's ends are in it."""

    batch: Batch | EventBatch
    src: Tensor  # int64 [num_pairs]: place among the seeds
    dst: Tensor  # int64 [num_pairs]
    histories: Histories | None = None  # each pair's own, as src sees it, empty where they never met
    statistics: Tensor | None = None  # float32 [num_pairs, ..]: ranks of the pair's statistics

    # Histories and statistics are None where nobody reads them.

    @property
    def num_events(self) -> int:
        """How many events its histories hold, the pairs' own included."""
        return self.batch.num_events + (0 if self.histories is None else self.histories.num_events)

    def to(self, device: torch.device | str) -> PairBatch:
        """The same pairs on another device."""
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

        Slots of weight zero are left out. They add nothing, and the sparse normalisers pass no gradient to them:
        the result is the same and MLP_1 is spared the neighbours that the attention discards.

        Args:
            alpha: Weights of the neighbours, zero where there is none, [num_targets, K].
        """
        # Not "> 0": a NaN must go on and be seen at the end.
        target, place = ((alpha != 0) & (batch.edge >= 0)).nonzero(as_tuple=True)
        return cls(target, batch.neighbour[target, place], batch.edge[target, place], alpha[target, place])

    @classmethod
    def of_graph(cls, offset: Tensor, neighbour: Tensor, edge: Tensor, alpha: Tensor) -> Slots:
        """The slots of a whole graph, or of a run of its targets.

        Args:
            offset: Target i owns slots offset[i] : offset[i + 1], int64 [num_targets + 1].
        """
        kept = (alpha != 0).nonzero().squeeze(1)
        target = run_of_rows(offset, len(alpha))
        return cls(target[kept], neighbour[kept], edge[kept], alpha[kept])

    def first(self, num_targets: int) -> Slots:
        """The slots of the first targets only."""
        end = int((self.target < num_targets).sum())
        return Slots(self.target[:end], self.neighbour[:end], self.edge[:end], self.alpha[:end])
