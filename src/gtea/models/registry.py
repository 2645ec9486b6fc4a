"""What each family of models is made of: the one place that knows them all, GTEA and what it stands beside.

A family is a network for each task and what makes the batches that it reads. Training, saving, scoring and judging
know nothing beyond that: whatever the family, it goes the same way through the same samples and splits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import nn

from gtea.config import InputSpec, ModelConfig, RunConfig
from gtea.errors import UsageError
from gtea.features.pair_statistics import PAIR_STATISTICS
from gtea.features.preprocessing import Preprocessing
from gtea.models.boosted_trees import BoostedTrees, PairBoostedTrees
from gtea.models.ecconv import ECConv
from gtea.models.edgebank import EdgeBank
from gtea.models.egnn import EGNN
from gtea.models.gat import GAT
from gtea.models.gcn import GCN
from gtea.models.graphsage import GraphSAGE
from gtea.models.gtea import GTEALinkNetwork, GTEANodeClassifier
from gtea.models.hybrid import HybridClassifier, HybridPredictor
from gtea.models.layered import BaselineClassifier, BaselinePredictor, Build
from gtea.models.tgat import TGAT
from gtea.sampling.collate import Collator, collator_for
from gtea.sampling.event_batches import EventCollator, event_collator_for
from gtea.sampling.pair_batches import PairCollator
from gtea.sampling.tabular import NodeRows, PairAges, PairRows
from gtea.store.store import Store

Collate = Callable[[Store, int, Preprocessing, RunConfig], Collator | EventCollator]


class NodeBatches(Protocol):
    """Makes batches of nodes."""

    def batch(self, seeds: NDArray[np.integer[Any]], epoch: int = 0) -> Any:
        """What the network reads about some nodes, each named once."""


class PairBatches(Protocol):
    """Makes batches of pairs."""

    def batch(self, src: NDArray[np.integer[Any]], dst: NDArray[np.integer[Any]], epoch: int = 0) -> Any:
        """What the network reads about some pairs."""


@dataclass(frozen=True)
class ModelEntry:
    """How to make a family's networks and batches."""

    classifier: Callable[[ModelConfig, InputSpec, int, int], nn.Module]
    """From sizes, the number of classes and a seed: class logits of nodes."""
    predictor: Callable[[ModelConfig, InputSpec, int], nn.Module]
    """From sizes and a seed: logits of pairs."""
    node_batches: Callable[[Store, int, Preprocessing, RunConfig], NodeBatches]
    """From a store as of a cut."""
    pair_batches: Callable[[Store, int, Preprocessing, RunConfig, nn.Module], PairBatches]
    """The same, for the network that will read them."""
    reads_events: bool = True
    """Whether it reads events at all, or what is known about accounts and pairs as numbers."""


def entry_of(config: ModelConfig) -> ModelEntry:
    """The family that the configuration names."""
    match config.family:
        case "gtea":
            networks = (
                (HybridClassifier, HybridPredictor) if config.tree_beside else (GTEANodeClassifier, GTEALinkNetwork)
            )
            return ModelEntry(*networks, collator_for, partial(_pairs, collator_for))
        case "gcn":
            return _layered(GCN, partial(collator_for, with_degrees=True))
        case "graphsage":
            return _layered(GraphSAGE)
        case "gat":
            return _layered(GAT)
        case "ecconv":
            return _layered(ECConv)
        case "egnn":
            return _layered(EGNN)
        case "tgat":
            return _layered(TGAT, event_collator_for)
        case "tree":
            return ModelEntry(_forest, _pair_forest, _node_rows, _pair_rows, reads_events=False)
        case "edgebank":
            return ModelEntry(_no_classifier, _edgebank, _node_rows, _pair_ages, reads_events=False)


def require_classifier(config: ModelConfig) -> None:
    """Refuse a family that has nothing to say about accounts, before anything is begun."""
    if entry_of(config).classifier is _no_classifier:
        _no_classifier(config)


def _layered(build: Build, collate: Collate = collator_for) -> ModelEntry:
    """A family of layers under GTEA's heads."""
    networks = partial(BaselineClassifier, build), partial(BaselinePredictor, build)
    return ModelEntry(*networks, collate, partial(_pairs, collate))


def _pairs(
    collate: Collate,
    store: Store,
    cut: int,
    preprocessing: Preprocessing,
    config: RunConfig,
    network: nn.Module,
) -> PairCollator:
    with_histories = isinstance(network, GTEALinkNetwork) and network.reads_history
    # The paper's head reads neither, but a tree beside it reads statistics.
    with_statistics = with_histories or isinstance(network, HybridPredictor)
    nodes = collate(store, cut, preprocessing, config)
    return PairCollator(nodes, with_histories=with_histories, with_statistics=with_statistics)


def _forest(config: ModelConfig, spec: InputSpec, num_classes: int, seed: int) -> BoostedTrees:
    return BoostedTrees(spec.d_node_features + spec.d_neighbour_labels, num_classes, seed)


def _pair_forest(config: ModelConfig, spec: InputSpec, seed: int) -> PairBoostedTrees:
    return PairBoostedTrees(len(PAIR_STATISTICS), seed)


def _edgebank(config: ModelConfig, spec: InputSpec, seed: int) -> EdgeBank:
    return EdgeBank()


def _no_classifier(config: ModelConfig, *sizes: object) -> nn.Module:
    raise UsageError(f"{config.family}: foretells links only. Pass --task links, or take another variant.")


def _node_rows(store: Store, cut: int, preprocessing: Preprocessing, config: RunConfig) -> NodeRows:
    return NodeRows(store.as_of(cut), preprocessing)


def _pair_rows(store: Store, cut: int, preprocessing: Preprocessing, config: RunConfig, network: nn.Module) -> PairRows:
    return PairRows(store.as_of(cut), preprocessing)


def _pair_ages(store: Store, cut: int, preprocessing: Preprocessing, config: RunConfig, network: nn.Module) -> PairAges:
    return PairAges(store.as_of(cut), preprocessing)
