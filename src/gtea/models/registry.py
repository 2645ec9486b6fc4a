"""All models by name: how each is built, what it reads, and its default settings.

This is the only module that knows which models exist. Training, saving, scoring and the model card look up a
``ModelEntry`` instead of checking a model's class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import nn

from gtea.config import (
    Family,
    FeaturesConfig,
    InputSpec,
    ModelConfig,
    RunConfig,
    SamplingConfig,
    TrainConfig,
    require_one_of,
)
from gtea.errors import UsageError
from gtea.features.node_features import Statistics
from gtea.features.pair_statistics import PAIR_STATISTICS
from gtea.features.preprocessing import Preprocessing
from gtea.models.boosted_trees import STRONG, BoostedTrees, PairBoostedTrees
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
from gtea.sampling.tabular import NodeRows, PairRecency, PairRows
from gtea.store.store import Store

TaskKind = Literal["nodes", "links"]

_WITH_TREES: tuple[Family, ...] = ("hybrid", "tree", "strong-tree")

DEFAULT_MODEL = "hybrid"
"""The model that is trained if none is named."""

MODELS: dict[str, ModelConfig] = {
    "hybrid": ModelConfig(family="hybrid"),
    "gtea-l": ModelConfig(encoder="lstm", time_encoding=False),
    "gtea-l+t": ModelConfig(encoder="lstm"),
    "gtea-tx": ModelConfig(encoder="transformer", time_encoding=False),
    "gtea-tx+t": ModelConfig(encoder="transformer"),
    "gtea-he": ModelConfig(encoder="statistics", time_encoding=False),
    "gcn": ModelConfig(family="gcn"),
    "graphsage": ModelConfig(family="graphsage"),
    "gat": ModelConfig(family="gat"),
    "ecconv": ModelConfig(family="ecconv"),
    "egnn": ModelConfig(family="egnn"),
    "tgat": ModelConfig(family="tgat"),
    "tree": ModelConfig(family="tree"),
    "strong-tree": ModelConfig(family="strong-tree"),
    "edgebank": ModelConfig(family="edgebank"),
}
GTEA_VARIANTS = tuple(name for name, config in MODELS.items() if config.family == "gtea")
"""The five variants of the paper; ``+t`` means with time encoding."""
GTEA_MODELS = (*GTEA_VARIANTS, "hybrid")
BASELINES = tuple(name for name in MODELS if name not in GTEA_MODELS)
"""The six baselines of the paper, boosted trees on own and on all statistics, and EdgeBank."""


class NodeBatches(Protocol):
    """Makes batches of nodes."""

    def batch(self, seeds: NDArray[np.integer[Any]], epoch: int = 0) -> Any:
        """The model's input for some nodes, which must be distinct."""


class MakeNodeBatches(Protocol):
    """Makes the batches of a store as of a cut."""

    def __call__(
        self,
        store: Store,
        cut: int,
        preprocessing: Preprocessing,
        config: RunConfig,
        *,
        shares: Statistics | None = None,
    ) -> NodeBatches:
        """The batches.

        Args:
            shares: What computes neighbour labels of the nodes; None reads them from the store.
        """


class _Collate(MakeNodeBatches, Protocol):
    def __call__(
        self,
        store: Store,
        cut: int,
        preprocessing: Preprocessing,
        config: RunConfig,
        *,
        shares: Statistics | None = None,
    ) -> Collator | EventCollator: ...


class PairBatches(Protocol):
    """Makes batches of pairs."""

    def batch(self, src: NDArray[np.integer[Any]], dst: NDArray[np.integer[Any]], epoch: int = 0) -> Any:
        """The model's input for some pairs."""


@dataclass(frozen=True)
class ModelEntry:
    """How to build, train and score the models of one family."""

    title: str
    """The name on the model card."""
    classifier: Callable[[ModelConfig, InputSpec, int, int], nn.Module] | None
    """Builds a network for class logits of nodes from the settings, the input sizes, the number of classes and a seed.
    None if the model only predicts links."""
    predictor: Callable[[ModelConfig, InputSpec, int], nn.Module]
    """Builds a network for link logits of pairs from the settings, the input sizes and a seed."""
    node_batches: MakeNodeBatches
    """Makes the batches of a store as of a cut."""
    pair_batches: Callable[[Store, int, Preprocessing, RunConfig], PairBatches]
    fitted_in_epochs: bool = True
    """Whether training takes epochs. If not, the model is fitted to all training examples at once."""
    has_trees: bool = False
    """Whether boosted trees are fitted before the network is trained."""
    exact: bool = False
    """Whether it can be scored exactly, from all neighbours. Models that do not sample are exact anyway."""
    samples: bool = True
    """Whether it reads a sample of the neighbours."""
    reads_context: bool = False
    """Whether accounts have statistics of partners and of rhythm by default. The trees of a hybrid always do."""


def entry_of(config: ModelConfig) -> ModelEntry:
    """The entry of the family that the settings name."""
    return _FAMILIES[config.family]


def model_config(name: str) -> ModelConfig:
    """The settings of a model by its name."""
    require_one_of("variant", name, tuple(MODELS))
    return MODELS[name]


def require_classifier(config: ModelConfig) -> None:
    """Refuse a model that can't classify accounts."""
    if entry_of(config).classifier is None:
        raise UsageError(f"{config.family}: only predicts links. Pass --task links, or choose another --variant.")


def build_classifier(config: ModelConfig, spec: InputSpec, num_classes: int, seed: int) -> nn.Module:
    """A network for class logits of nodes."""
    require_classifier(config)
    build = entry_of(config).classifier
    assert build is not None
    return build(config, spec, num_classes, seed)


def default_config(model: ModelConfig, task: TaskKind) -> RunConfig:
    """The default settings of a model for a task."""
    return _link_defaults(model) if task == "links" else _node_defaults(model)


def _node_defaults(model: ModelConfig) -> RunConfig:
    """Defaults for accounts.

    A hybrid blends probabilities. The best epoch of its network is therefore chosen by log-likelihood, which penalises
    overconfidence, unlike a metric at a threshold, and no class has a larger weight than it has examples. Its node
    features are clipped, so that the network is not overconfident far from its training data.
    """
    if model.family == "tree":
        return RunConfig(model, train=TrainConfig(class_weights=False, refit_trees=True))
    if model.family == "strong-tree":
        return RunConfig(
            model, FeaturesConfig(neighbour_labels=True), train=TrainConfig(class_weights=False, refit_trees=True)
        )
    if model.family != "hybrid":
        return RunConfig(model)
    return RunConfig(
        replace(model, node_limit=2.0),
        FeaturesConfig(neighbour_labels=True),
        train=TrainConfig(metric="log_likelihood", class_weights=False, refit_trees=True),
    )


def _link_defaults(model: ModelConfig) -> RunConfig:
    """Defaults for links.

    There are as many negatives as positives, so a ranking metric is more informative than one at a threshold. Recent
    activity predicts the near future, so the most recent neighbours and events are read. A pair's own history is more
    informative than its two ends, so GTEA gets a wide head that reads it, one hop, and dropout against memorising
    pairs. A hybrid's node features are clipped as for accounts. The paper uses ``model.link_head = "dot"`` and two
    layers.
    """
    gtea = model.reads_histories
    if gtea and model.link_head == "dot":
        model = replace(model, link_head="ordered_pair", num_layers=1, d_mlp=256, dropout=0.3)
    if model.family == "hybrid":
        model = replace(model, node_limit=2.0)
    return RunConfig(
        model,
        FeaturesConfig(recency=True, net_flow=False, pair_statistics=gtea),
        SamplingConfig(max_events=16, strategy="recent"),
        TrainConfig(
            lr=1e-3 if gtea else 2e-3,
            epochs=8,
            patience=8,
            schedule="cosine",
            metric="average_precision",
            refit_trees=model.family in _WITH_TREES,
        ),
    )


def _layered(title: str, build: Build, collate: _Collate = collator_for) -> ModelEntry:
    """The entry of a baseline: message-passing layers with GTEA's heads."""
    networks = partial(BaselineClassifier, build), partial(BaselinePredictor, build)
    return ModelEntry(title, *networks, collate, partial(_pair_collator, collate))


def _pair_collator(
    collate: _Collate, store: Store, cut: int, preprocessing: Preprocessing, config: RunConfig
) -> PairCollator:
    with_histories = config.model.link_head != "dot"
    # The paper's head reads no statistics, but a hybrid's trees do.
    with_statistics = with_histories or entry_of(config.model).has_trees
    nodes = collate(store, cut, preprocessing, config)
    return PairCollator(nodes, with_histories=with_histories, with_statistics=with_statistics)


def _boosted_trees(config: ModelConfig, spec: InputSpec, num_classes: int, seed: int) -> BoostedTrees:
    return BoostedTrees(spec.d_node_features + spec.d_neighbour_labels, num_classes, seed)


def _pair_boosted_trees(config: ModelConfig, spec: InputSpec, seed: int) -> PairBoostedTrees:
    return PairBoostedTrees(len(PAIR_STATISTICS), seed)


def _strong_trees(config: ModelConfig, spec: InputSpec, num_classes: int, seed: int) -> BoostedTrees:
    return BoostedTrees(spec.d_node_features + spec.d_neighbour_labels, num_classes, seed, STRONG)


def _strong_pair_trees(config: ModelConfig, spec: InputSpec, seed: int) -> PairBoostedTrees:
    return PairBoostedTrees(len(PAIR_STATISTICS), seed, STRONG)


def _edgebank(config: ModelConfig, spec: InputSpec, seed: int) -> EdgeBank:
    return EdgeBank()


def _node_rows(
    store: Store, cut: int, preprocessing: Preprocessing, config: RunConfig, *, shares: Statistics | None = None
) -> NodeRows:
    return NodeRows(store.as_of(cut), preprocessing, shares=shares)


def _pair_rows(store: Store, cut: int, preprocessing: Preprocessing, config: RunConfig) -> PairRows:
    return PairRows(store.as_of(cut), preprocessing)


def _pair_recency(store: Store, cut: int, preprocessing: Preprocessing, config: RunConfig) -> PairRecency:
    return PairRecency(store.as_of(cut), preprocessing)


_FAMILIES: dict[Family, ModelEntry] = {
    "hybrid": ModelEntry(
        "Hybrid of GTEA and boosted trees, blended by their validation log-likelihood. GTEA",
        HybridClassifier,
        HybridPredictor,
        partial(collator_for, with_tree_inputs=True),
        partial(_pair_collator, collator_for),
        has_trees=True,
        exact=True,
    ),
    "gtea": ModelEntry(
        "GTEA",
        GTEANodeClassifier,
        GTEALinkNetwork,
        collator_for,
        partial(_pair_collator, collator_for),
        exact=True,
    ),
    "gcn": _layered("GCN", GCN, partial(collator_for, with_degrees=True)),
    "graphsage": _layered("GraphSAGE", GraphSAGE),
    "gat": _layered("GAT", GAT),
    "ecconv": _layered("ECConv", ECConv),
    "egnn": _layered("EGNN", EGNN),
    "tgat": _layered("TGAT", TGAT, event_collator_for),
    "tree": ModelEntry(
        "Boosted trees on statistics",
        _boosted_trees,
        _pair_boosted_trees,
        _node_rows,
        _pair_rows,
        fitted_in_epochs=False,
        samples=False,
    ),
    "strong-tree": ModelEntry(
        "Boosted trees on statistics of accounts, partners and rhythm, and labels of neighbours",
        _strong_trees,
        _strong_pair_trees,
        _node_rows,
        _pair_rows,
        fitted_in_epochs=False,
        samples=False,
        reads_context=True,
    ),
    "edgebank": ModelEntry(
        "EdgeBank: past pairs, most recent first",
        None,
        _edgebank,
        _node_rows,
        _pair_recency,
        fitted_in_epochs=False,
        samples=False,
    ),
}
