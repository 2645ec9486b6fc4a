"""The link prediction task on labelled pairs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from gtea.config import InputSpec, RunConfig
from gtea.features.preprocessing import Preprocessing
from gtea.models.hybrid import EachModel, Hybrid
from gtea.models.model_folder import SavedModel
from gtea.models.registry import PairBatches, entry_of
from gtea.sampling.pair_batches import ranked_statistics
from gtea.scoring.sampled import LinkScorer
from gtea.store.store import Store
from gtea.tasks.metrics import Floats, accuracy_threshold, pair_metrics
from gtea.tasks.pair_split import PairSplit
from gtea.tasks.pairs import Pairs
from gtea.training.evaluation import Evaluation, Measures, PartPredictions, blended, evaluate_parts
from gtea.training.fitted import Fitted
from gtea.training.objective import Examples, Objective, class_weights, example_weights, weighted_mean
from gtea.training.results import TaskOutputs


@dataclass(frozen=True)
class PairTask:
    """Train a link predictor on labelled pairs."""

    store: Store
    pairs: Pairs
    """Labelled pairs of two classes. The second class means a link."""
    split: PairSplit
    config: RunConfig
    folder: Path
    device: torch.device
    class_weights: Tensor | None = None
    """The weight of each class in the loss; None computes them from the training part."""

    def identity(self) -> dict[str, Any]:
        """A digest of the labelled pairs."""
        return {"pairs": _pairs_digest(self.pairs, self.store)}

    def outputs(self) -> TaskOutputs:
        """One output, the probability of a link, and the names of the classes."""
        return {"task": "links", "classes": list(self.pairs.classes), "positive": self.pairs.classes[1]}

    def neighbour_labels(self) -> None:
        """None: accounts have no labels in this task."""

    def network(self, spec: InputSpec) -> nn.Module:
        """The configured model. Networks have the configured link head."""
        return entry_of(self.config.model).predictor(self.config.model, spec, self.config.train.seed)

    def objective(self, network: nn.Module, preprocessing: Preprocessing) -> Objective[Any]:
        """Binary cross-entropy over the training pairs."""
        part = self.split.train
        pairs = _batches(self, preprocessing, part.as_of)
        src, dst, truth = self.pairs.src[part.index], self.pairs.dst[part.index], _is_link(self.pairs)[part.index]
        targets, weights = torch.from_numpy(truth.astype(np.float32)), _weights(self)

        def make_batch(items: NDArray[np.int64], epoch: int) -> Any:
            return pairs.batch(src[items], dst[items], epoch)

        def targets_of(items: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
            return targets[items], weights[items]

        def examples() -> Examples:
            rows = ranked_statistics(self.store.as_of(part.as_of), preprocessing)
            assert rows is not None, "a hybrid has pair statistics"
            return Examples(rows(src, dst), targets, weights)

        def loss_of(items: NDArray[np.int64], batch: Any) -> Tensor:
            logits = network(batch.to(self.device))
            expected = targets[items].to(self.device, logits.dtype)
            losses = functional.binary_cross_entropy_with_logits(logits, expected, reduction="none")
            return weighted_mean(losses, weights[items].to(self.device))

        scorer = _scorer(self, network, preprocessing)

        def validate() -> Mapping[str, float]:
            return _validation_metrics(self, scorer)

        return Objective(make_batch, (len(part),), targets_of, loss_of, validate, examples)

    def with_validation(self) -> tuple[PairTask]:
        """The same task, but the validation pairs are training pairs, too."""
        split = replace(self.split, train=self.split.with_validation())
        # With the same class weights, one correction undoes those of both fits.
        return (replace(self, split=split, class_weights=_class_weights(self)),)

    def held_out(self) -> tuple[()]:
        """No blocks."""
        return ()

    def evaluate(
        self, chosen: Fitted[nn.Module], final: Fitted[nn.Module], held_out: Sequence[Fitted[nn.Module]] = ()
    ) -> Evaluation:
        """The metrics of the validation part."""
        network, preprocessing = chosen
        index = self.split.validation.index
        targets = _is_link(self.pairs)[index].astype(np.int64)
        ends = self.pairs.src[index], self.pairs.dst[index]
        halves: dict[str, Floats] = {}
        if isinstance(network, Hybrid):
            outputs = _scorer(self, EachModel(network), preprocessing).outputs(*ends)
            blend = cast(Hybrid, final.network).blend
            probabilities, halves = blended(blend, {"validation": outputs}, targets)["validation"]
        else:
            links = _scorer(self, network, preprocessing).probabilities(*ends)
            probabilities = np.stack([1 - links, links], axis=1)
        src, dst = map(self.store.accounts.take, ends)
        part = PartPredictions({"src": src, "dst": dst}, targets, probabilities, halves)
        evaluation = evaluate_parts(_measures(self), part, None)
        evaluation.metrics["pairs"] = self.pairs.report
        return evaluation

    def with_decisions(self, model: SavedModel) -> SavedModel:
        """The model as it is: budgets and prevalence are for accounts."""
        return model


def _pairs_digest(pairs: Pairs, store: Store) -> str:
    """Return a sha256 of ids, labels and weights."""
    ends = [store.accounts.take(nodes).to_pylist() for nodes in (pairs.src, pairs.dst)]
    digest = hashlib.sha256(json.dumps([pairs.classes, ends]).encode())
    for array in (pairs.targets, pairs.weights):
        digest.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _batches(task: PairTask, preprocessing: Preprocessing, cut: int) -> PairBatches:
    return entry_of(task.config.model).pair_batches(task.store, cut, preprocessing, task.config)


def _scorer(task: PairTask, network: nn.Module, preprocessing: Preprocessing) -> LinkScorer:
    batches = _batches(task, preprocessing, task.split.validation.as_of)
    return LinkScorer(network, batches, task.config.sampling.batch_size, task.device)


def _validation_metrics(task: PairTask, scorer: LinkScorer) -> dict[str, float]:
    """Return the metrics of the validation part, at the threshold with its highest accuracy."""
    index = task.split.validation.index
    probabilities = scorer.probabilities(task.pairs.src[index], task.pairs.dst[index])
    truth = _is_link(task.pairs)[index]
    return pair_metrics(truth, probabilities, accuracy_threshold(truth, probabilities))


def _measures(task: PairTask) -> Measures:
    index, targets, weights = task.split.train.index, task.pairs.targets, task.pairs.weights
    assert targets is not None
    counts = np.bincount(targets[index], None if weights is None else weights[index], minlength=2)

    def metrics(part: PartPredictions, probabilities: Floats, threshold: float | None) -> dict[str, float]:
        return pair_metrics(part.targets == 1, probabilities[:, 1], 0.5 if threshold is None else threshold)

    balanced = _class_weights(task).double().numpy() if task.config.train.class_weights else None
    return Measures(task.pairs.classes, 1, counts.astype(np.float64), balanced, metrics)


def _is_link(pairs: Pairs) -> NDArray[np.bool_]:
    return np.asarray(pairs.targets == 1)


def _weights(task: PairTask) -> Tensor:
    """Return the weight of each training pair."""
    index, targets, weights = task.split.train.index, task.pairs.targets, task.pairs.weights
    assert targets is not None
    weights = np.ones(len(targets)) if weights is None else weights
    return example_weights(weights[index]) * _class_weights(task)[torch.from_numpy(targets[index])]


def _class_weights(task: PairTask) -> Tensor:
    if task.class_weights is not None:
        return task.class_weights
    index, targets, weights = task.split.train.index, task.pairs.targets, task.pairs.weights
    assert targets is not None
    given = None if weights is None else weights[index]
    return class_weights(targets[index], given, 2, balanced=task.config.train.class_weights)
