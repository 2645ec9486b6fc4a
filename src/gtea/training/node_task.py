"""Training a node classifier from a store and labels."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from gtea.config import InputSpec, RunConfig
from gtea.features.neighbour_labels import NeighbourLabels, neighbour_labels_of
from gtea.features.preprocessing import Preprocessing
from gtea.models.registry import NodeBatches, build_classifier, entry_of
from gtea.sampling.tabular import NodeRows
from gtea.scoring.sampled import NodeScorer
from gtea.store.store import Store
from gtea.tasks.labels import Labels
from gtea.tasks.metrics import node_metrics
from gtea.tasks.splits import Part, Split
from gtea.training.objective import Examples, Objective, class_weights, example_weights, weighted_mean


@dataclass(frozen=True)
class NodeTask:
    """What is to be trained, on what, and where it goes."""

    store: Store
    labels: Labels
    positive: str | None
    """The class whose probability is the score; None with more than two classes."""
    split: Split
    config: RunConfig
    folder: Path
    device: torch.device

    def choices(self) -> dict[str, Any]:
        """Who has which label, and which is looked for."""
        return {"labels": labels_digest(self.labels, self.store), "positive": self.positive}

    def answers(self) -> dict[str, Any]:
        """The classes."""
        return {"task": "nodes", "classes": list(self.labels.classes), "positive": self.positive}

    def neighbour_labels(self) -> NeighbourLabels:
        """The labels of the training part."""
        part, labels = self.split.train.index, self.labels
        return neighbour_labels_of(self.store, labels.nodes[part], labels.targets[part], labels.classes)

    def network(self, spec: InputSpec) -> nn.Module:
        """The configured family and, of networks, the head of Eq. 8."""
        return build_classifier(self.config.model, spec, len(self.labels.classes), self.config.train.seed)

    def objective(self, network: nn.Module, preprocessing: Preprocessing) -> Objective[Any]:
        """Cross-entropy of the training accounts' classes."""
        part = self.split.train.index
        batches = _batches(self, preprocessing, self.split.train.as_of)
        nodes, targets = self.labels.nodes[part], torch.from_numpy(self.labels.targets[part])
        of_class = _class_weights(self)
        own = None if self.labels.weights is None else example_weights(self.labels.weights[part])

        def make(items: NDArray[np.int64], epoch: int) -> Any:
            return batches.batch(nodes[items], epoch)

        def targets_of(items: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
            weights = of_class[targets[items]]
            return targets[items], weights if own is None else weights * own[items]

        def examples() -> Examples:
            items = np.arange(len(nodes))
            rows = NodeRows(self.store.as_of(self.split.train.as_of), preprocessing).batch(nodes)
            return Examples(rows, *targets_of(items))

        def loss_of(items: NDArray[np.int64], batch: Any) -> Tensor:
            logits = network(batch.to(self.device))
            wanted, weights = (part.to(self.device) for part in targets_of(items))
            if own is None:
                return functional.cross_entropy(logits, wanted, of_class.to(self.device))
            return weighted_mean(functional.cross_entropy(logits, wanted, reduction="none"), weights)

        scorer = _scorer(self, network, preprocessing, self.split.validation.as_of)

        def validate() -> Mapping[str, float]:
            return _metrics(self, scorer, self.split.validation)

        return Objective(make, (len(nodes),), targets_of, loss_of, validate, examples)

    def evaluate(self, network: nn.Module, preprocessing: Preprocessing) -> dict[str, Any]:
        """Each part on the graph that it may see."""
        figures = {
            name: _metrics(self, _scorer(self, network, preprocessing, part.as_of), part)
            for name, part in self.split.parts.items()
            if name != "train"
        }
        return {**figures, "labels": self.labels.report}


def labels_digest(labels: Labels, store: Store) -> str:
    """One sha256 over each account's id, label, ``known_at`` and weight. Ids, because later accounts move numbers."""
    digest = hashlib.sha256(json.dumps([labels.classes, store.accounts.take(labels.nodes).to_pylist()]).encode())
    for array in (labels.targets, labels.known_at, labels.weights):
        digest.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _class_weights(run: NodeTask) -> Tensor:
    part, labels = run.split.train.index, run.labels
    own = None if labels.weights is None else labels.weights[part]
    return class_weights(labels.targets[part], own, len(labels.classes), balanced=run.config.train.class_weights)


def _batches(run: NodeTask, preprocessing: Preprocessing, cut: int) -> NodeBatches:
    return entry_of(run.config.model).node_batches(run.store, cut, preprocessing, run.config)


def _scorer(run: NodeTask, network: nn.Module, preprocessing: Preprocessing, cut: int) -> NodeScorer:
    batches = _batches(run, preprocessing, cut)
    return NodeScorer(network, batches, run.config.sampling.batch_size, run.device)


def _metrics(run: NodeTask, scorer: NodeScorer, part: Part) -> dict[str, float]:
    probabilities = scorer.probabilities(run.labels.nodes[part.index])
    return node_metrics(run.labels.targets[part.index], probabilities, run.labels.classes, run.positive)
