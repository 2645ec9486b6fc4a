"""The account classification task: a store and labels."""

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
from gtea.training.results import TaskMetrics, TaskOutputs


@dataclass(frozen=True)
class NodeTask:
    """Train a classifier of accounts on labels."""

    store: Store
    labels: Labels
    positive: str | None
    """The class whose probability is the score; None with more than two classes."""
    split: Split
    config: RunConfig
    folder: Path
    device: torch.device

    def identity(self) -> dict[str, Any]:
        """A digest of the labels, and the positive class."""
        return {"labels": _labels_digest(self.labels, self.store), "positive": self.positive}

    def outputs(self) -> TaskOutputs:
        """The classes, and the one whose probability is the score."""
        return {"task": "nodes", "classes": list(self.labels.classes), "positive": self.positive}

    def neighbour_labels(self) -> NeighbourLabels:
        """The training labels."""
        part, labels = self.split.train.index, self.labels
        return neighbour_labels_of(self.store, labels.nodes[part], labels.targets[part], labels.classes)

    def network(self, spec: InputSpec) -> nn.Module:
        """The configured model. Networks have the head of Eq. 8."""
        return build_classifier(self.config.model, spec, len(self.labels.classes), self.config.train.seed)

    def objective(self, network: nn.Module, preprocessing: Preprocessing) -> Objective[Any]:
        """Cross-entropy over the training accounts."""
        part = self.split.train.index
        batches = _batches(self, preprocessing, self.split.train.as_of)
        nodes, targets = self.labels.nodes[part], torch.from_numpy(self.labels.targets[part])
        per_class = _class_weights(self)
        per_example = None if self.labels.weights is None else example_weights(self.labels.weights[part])

        def make_batch(items: NDArray[np.int64], epoch: int) -> Any:
            return batches.batch(nodes[items], epoch)

        def targets_of(items: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
            weights = per_class[targets[items]]
            return targets[items], weights if per_example is None else weights * per_example[items]

        def examples() -> Examples:
            items = np.arange(len(nodes))
            rows = NodeRows(self.store.as_of(self.split.train.as_of), preprocessing).batch(nodes)
            return Examples(rows, *targets_of(items))

        def loss_of(items: NDArray[np.int64], batch: Any) -> Tensor:
            logits = network(batch.to(self.device))
            expected, weights = (tensor.to(self.device) for tensor in targets_of(items))
            if per_example is None:
                return functional.cross_entropy(logits, expected, per_class.to(self.device))
            return weighted_mean(functional.cross_entropy(logits, expected, reduction="none"), weights)

        scorer = _scorer(self, network, preprocessing, self.split.validation.as_of)

        def validate() -> Mapping[str, float]:
            return _metrics(self, scorer, self.split.validation)

        return Objective(make_batch, (len(nodes),), targets_of, loss_of, validate, examples)

    def evaluate(self, network: nn.Module, preprocessing: Preprocessing) -> TaskMetrics:
        """The metrics of each part, as of its own cut."""
        validation, test = (
            None if part is None else _metrics(self, _scorer(self, network, preprocessing, part.as_of), part)
            for part in (self.split.validation, self.split.test)
        )
        assert validation is not None
        metrics = TaskMetrics(validation=validation)
        if test is not None:
            metrics["test"] = test
            if entry_of(self.config.model).has_trees:
                metrics["test_trees_alone"] = self._trees_alone(network, preprocessing)
        metrics["labels"] = self.labels.report
        return metrics

    def _trees_alone(self, network: nn.Module, preprocessing: Preprocessing) -> dict[str, float]:
        """The test metrics of a hybrid's trees without its network, for comparison."""
        assert self.split.test is not None
        rows = NodeRows(self.store.as_of(self.split.test.as_of), preprocessing)
        scorer = NodeScorer(network.get_submodule("tree"), rows, self.config.sampling.batch_size, self.device)
        return _metrics(self, scorer, self.split.test)


def _labels_digest(labels: Labels, store: Store) -> str:
    """Return a sha256 of ids, labels, ``known_at`` and weights. Node numbers would change as the store grows."""
    digest = hashlib.sha256(json.dumps([labels.classes, store.accounts.take(labels.nodes).to_pylist()]).encode())
    for array in (labels.targets, labels.known_at, labels.weights):
        digest.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _class_weights(task: NodeTask) -> Tensor:
    part, labels = task.split.train.index, task.labels
    weights = None if labels.weights is None else labels.weights[part]
    return class_weights(labels.targets[part], weights, len(labels.classes), balanced=task.config.train.class_weights)


def _batches(task: NodeTask, preprocessing: Preprocessing, cut: int) -> NodeBatches:
    return entry_of(task.config.model).node_batches(task.store, cut, preprocessing, task.config)


def _scorer(task: NodeTask, network: nn.Module, preprocessing: Preprocessing, cut: int) -> NodeScorer:
    batches = _batches(task, preprocessing, cut)
    return NodeScorer(network, batches, task.config.sampling.batch_size, task.device)


def _metrics(task: NodeTask, scorer: NodeScorer, part: Part) -> dict[str, float]:
    probabilities = scorer.probabilities(task.labels.nodes[part.index])
    return node_metrics(task.labels.targets[part.index], probabilities, task.labels.classes, task.positive)
