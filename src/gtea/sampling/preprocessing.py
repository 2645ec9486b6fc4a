"""All that is learnt from the training window before training begins: one frozen value, saved with the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gtea.data.ranking import RankScaler
from gtea.data.time_scaling import TimeScaler
from gtea.sampling.event_features import EventPreprocessing
from gtea.sampling.known import KnownLabels
from gtea.sampling.node_features import NodePreprocessing


@dataclass(frozen=True)
class Preprocessing:
    """How times, events and nodes are made fit for a network."""

    times: TimeScaler
    events: EventPreprocessing
    nodes: NodePreprocessing
    pairs: RankScaler | None = None
    """Of statistics of pairs; None where nobody asks for them."""
    ranks: RankScaler | None = None
    """Of the features of nodes; None where nobody asks for them."""
    known: KnownLabels | None = None
    """Labels to be looked up around nodes; None where nobody asks for them."""

    @property
    def d_event(self) -> int:
        """The width of ``Histories.features``."""
        return len(self.events.names)

    @property
    def d_node(self) -> int:
        """The width of ``Batch.node_features``."""
        return len(self.nodes.names)

    def to_json(self) -> dict[str, Any]:
        """As it stands in a model's file."""
        return {
            "times": self.times.to_json(),
            "events": self.events.to_json(),
            "nodes": self.nodes.to_json(),
            "pairs": None if self.pairs is None else self.pairs.to_json(),
            "ranks": None if self.ranks is None else self.ranks.to_json(),
            "known": None if self.known is None else self.known.to_json(),
        }

    @staticmethod
    def from_json(content: dict[str, Any]) -> Preprocessing:
        """The preprocessing of a model's file."""
        return Preprocessing(
            TimeScaler.from_json(content["times"]),
            EventPreprocessing.from_json(content["events"]),
            NodePreprocessing.from_json(content["nodes"]),
            RankScaler.from_json(content["pairs"]) if content.get("pairs") else None,
            RankScaler.from_json(content["ranks"]) if content.get("ranks") else None,
            KnownLabels.from_json(content["known"]) if content.get("known") else None,
        )
