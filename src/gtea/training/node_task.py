"""The account classification task: a store and labels."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from gtea.config import InputSpec, RunConfig
from gtea.errors import UsageError
from gtea.features.labels_of_other_times import LabelsOfOtherTimes
from gtea.features.neighbour_labels import NeighbourLabels, neighbour_labels_of
from gtea.features.node_features import Statistics
from gtea.features.preprocessing import Preprocessing
from gtea.models.blend import LATER, OTHER_SHARES, SAME_TIME, Trust
from gtea.models.hybrid import EachModel, Hybrid
from gtea.models.model_folder import SavedModel
from gtea.models.registry import NodeBatches, build_classifier, entry_of
from gtea.sampling.tabular import NodeRows
from gtea.scoring.prevalence import for_prevalence
from gtea.scoring.sampled import NodeScorer
from gtea.scoring.scorer import NodeModel
from gtea.store.store import Store
from gtea.tasks.decision_options import DecisionOptions
from gtea.tasks.labels import Labels
from gtea.tasks.metrics import Floats, node_metrics
from gtea.tasks.priors import priors_differ
from gtea.tasks.split_warnings import split_warnings
from gtea.tasks.splits import Part, Split
from gtea.tasks.thresholds import budget_threshold
from gtea.training.evaluation import (
    VALIDATION_LATER,
    Evaluation,
    Measures,
    PartPredictions,
    blended,
    evaluate_parts,
)
from gtea.training.fitted import Fitted
from gtea.training.objective import Examples, Objective, class_weights, example_weights, weighted_mean
from gtea.training.results import TaskOutputs


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
    decisions: DecisionOptions = field(default_factory=DecisionOptions)
    class_weights: Tensor | None = None
    """The weight of each class in the loss; None computes them from the training part."""

    def __post_init__(self) -> None:
        if self.decisions.given and self.positive is None:
            names = ", ".join(f"--{name}" for name in self.decisions.given)
            raise UsageError(f"{names}: needs two classes (got {len(self.labels.classes)}). Leave it out.")

    def identity(self) -> dict[str, Any]:
        """A digest of the labels, the positive class, and the options of decisions."""
        labels = {"labels": _labels_digest(self.labels, self.store), "positive": self.positive}
        return {**labels, **({"decisions": self.decisions.given} if self.decisions.given else {})}

    def outputs(self) -> TaskOutputs:
        """The classes, and the one whose probability is the score."""
        return {"task": "nodes", "classes": list(self.labels.classes), "positive": self.positive}

    def neighbour_labels(self) -> NeighbourLabels:
        """The training labels."""
        part, labels = self.split.train.index, self.labels
        return neighbour_labels_of(self.store, labels.nodes[part], labels.targets[part], labels.classes)

    def _label_shares(self, preprocessing: Preprocessing) -> Statistics | None:
        """What computes neighbour labels of training accounts; None if nothing but their own label has to be hidden."""
        if preprocessing.neighbour_labels is None or not self.split.by_time:
            return None
        train, labels = self.split.train, self.labels
        nodes, targets = labels.nodes[train.index], labels.targets[train.index]
        return LabelsOfOtherTimes(self.store.as_of(train.as_of), nodes, targets, labels.classes)

    def network(self, spec: InputSpec) -> nn.Module:
        """The configured model. Networks have the head of Eq. 8."""
        return build_classifier(self.config.model, spec, len(self.labels.classes), self.config.train.seed)

    def objective(self, network: nn.Module, preprocessing: Preprocessing) -> Objective[Any]:
        """Cross-entropy over the training accounts."""
        part = self.split.train.index
        shares = self._label_shares(preprocessing)
        batches = _batches(self, preprocessing, self.split.train.as_of, shares)
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
            rows = NodeRows(self.store.as_of(self.split.train.as_of), preprocessing, shares=shares).batch(nodes)
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

    def with_validation(self, *, without: NDArray[np.int64] | None = None) -> tuple[NodeTask, ...]:
        """The same task, but the validation accounts are training accounts, too: as of their cut, and of the test part.

        Whoever scores knows all events until then. Accounts have shorter histories as of the first cut than what will
        be scored, and longer ones as of the second.

        Args:
            without: Validation accounts to leave out, as indices into the labels.
        """
        whole, test = self.split.with_validation(), self.split.test
        if without is not None:
            whole = replace(whole, index=whole.index[~np.isin(whole.index, without)])
        cuts = {whole.as_of} if test is None else {whole.as_of, test.as_of}
        # With the same class weights, one correction undoes those of all fits.
        weights = _class_weights(self)
        return tuple(
            replace(self, split=replace(self.split, train=replace(whole, as_of=cut)), class_weights=weights)
            for cut in sorted(cuts)
        )

    def held_out(self) -> tuple[tuple[NodeTask, ...], ...]:
        """For each block of the validation part, the tasks of ``with_validation`` without it."""
        return tuple(self.with_validation(without=block) for block in self.split.validation_blocks())

    def evaluate(
        self, chosen: Fitted[nn.Module], final: Fitted[nn.Module], held_out: Sequence[Fitted[nn.Module]] = ()
    ) -> Evaluation:
        """The metrics of each part, as of its own cut."""
        parts, blocks = _parts(self.split), self.split.validation_blocks()

        def answers(name: str, of: Callable[[Fitted[nn.Module], Part], Floats]) -> Floats:
            """What a function finds for a part, by a model that has not learnt from it."""
            if name == VALIDATION_LATER and held_out:
                each = zip(held_out, blocks, strict=True)
                return np.concatenate([of(model, replace(parts[name], index=block)) for model, block in each])
            return of(final if name == "test" else chosen, parts[name])

        if isinstance(final.network, Hybrid):
            by_model = {name: answers(name, partial(_by_model, self)) for name in parts}
            targets = self.labels.targets[self.split.validation.index]
            found = blended(final.network.blend, by_model, targets, _trust(self.split))
        else:
            found = {name: (answers(name, partial(_answers, self)), {}) for name in parts}
        predictions = {name: _predictions(self, parts[name], *found[name]) for name in parts}
        warnings = split_warnings(self.split, self.store, self.labels)
        evaluation = evaluate_parts(
            _measures(self, alike=_trust(self.split) is not OTHER_SHARES),
            predictions["validation"],
            predictions.get("test"),
            predictions.get(VALIDATION_LATER),
        )
        evaluation.metrics["labels"] = self.labels.report
        evaluation.metrics["warnings"] = [warning.to_json() for warning in warnings]
        return evaluation

    def with_decisions(self, model: SavedModel) -> SavedModel:
        """Correct for the prevalence, and set the threshold of a budget, which needs the scores of all accounts."""
        prevalence, budget = self.decisions.prevalence, self.decisions.budget
        if prevalence is not None:
            model = for_prevalence(model, prevalence)
        if budget is None:
            return model
        view = self.store.as_of((self.split.test or self.split.validation).as_of)
        nodes = np.flatnonzero(view.has_events(np.arange(self.store.num_nodes)))
        ready = NodeModel(model, self.device)
        scores = ready.scores(ready.probabilities(self.store, view.cut, nodes))
        labelled = {} if prevalence is not None else self._validation(model)
        return replace(model, thresholds={"threshold": budget_threshold(scores, budget, **labelled).to_json()})

    def _validation(self, model: SavedModel) -> dict[str, Any]:
        """The validation examples and their probabilities of the positive class."""
        predictions = model.predictions
        assert predictions is not None
        assert self.positive is not None
        rows = predictions.filter(pc.field("part") == "validation")
        truth = rows["target"].to_numpy() == self.labels.classes.index(self.positive)
        return {"truth": truth, "probabilities": rows[f"p_{self.positive}"].to_numpy()}


def _parts(split: Split) -> dict[str, Part]:
    """The parts to evaluate: the validation part, also as of a later cut, and the test part."""
    validation, test = split.validation, split.test
    if test is None:
        return {"validation": validation}
    later = {VALIDATION_LATER: replace(validation, as_of=test.as_of)} if test.as_of > validation.as_of else {}
    return {"validation": validation, **later, "test": test}


_CHANCE = 0.001
"""Class shares of two parts that differ by more than this p-value allows are taken as different."""


def _trust(split: Split) -> Trust:
    """How far the validation part speaks for what will be scored. The test part must not be asked: it is the future."""
    train, validation = split.train, split.validation
    if priors_differ([*train.classes.values()], [*validation.classes.values()]) < _CHANCE:
        return OTHER_SHARES
    return LATER if validation.as_of > train.as_of else SAME_TIME


def _labels_digest(labels: Labels, store: Store) -> str:
    """Return a sha256 of ids, labels, ``known_at`` and weights. Node numbers would change as the store grows."""
    digest = hashlib.sha256(json.dumps([labels.classes, store.accounts.take(labels.nodes).to_pylist()]).encode())
    for array in (labels.targets, labels.known_at, labels.weights):
        digest.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _class_weights(task: NodeTask) -> Tensor:
    if task.class_weights is not None:
        return task.class_weights
    part, labels = task.split.train.index, task.labels
    weights = None if labels.weights is None else labels.weights[part]
    return class_weights(labels.targets[part], weights, len(labels.classes), balanced=task.config.train.class_weights)


def _batches(task: NodeTask, preprocessing: Preprocessing, cut: int, shares: Statistics | None = None) -> NodeBatches:
    return entry_of(task.config.model).node_batches(task.store, cut, preprocessing, task.config, shares=shares)


def _scorer(task: NodeTask, network: nn.Module, preprocessing: Preprocessing, cut: int) -> NodeScorer:
    batches = _batches(task, preprocessing, cut)
    return NodeScorer(network, batches, task.config.sampling.batch_size, task.device)


def _metrics(task: NodeTask, scorer: NodeScorer, part: Part) -> dict[str, float]:
    probabilities = _probabilities(task, scorer, part)
    return node_metrics(task.labels.targets[part.index], probabilities, task.labels.classes, task.positive)


def _probabilities(task: NodeTask, scorer: NodeScorer, part: Part) -> Floats:
    return scorer.probabilities(task.labels.nodes[part.index])


def _answers(task: NodeTask, model: Fitted[nn.Module], part: Part) -> Floats:
    """The probabilities of a part."""
    return _probabilities(task, _scorer(task, *model, part.as_of), part)


def _by_model(task: NodeTask, model: Fitted[nn.Module], part: Part) -> Floats:
    """Log probabilities of a part by each of a hybrid's models."""
    each = EachModel(cast(Hybrid, model.network))
    return _scorer(task, each, model.preprocessing, part.as_of).outputs(task.labels.nodes[part.index])


def _predictions(task: NodeTask, part: Part, probabilities: Floats, halves: dict[str, Floats]) -> PartPredictions:
    accounts = task.store.accounts.take(task.labels.nodes[part.index])
    return PartPredictions({"account": accounts}, task.labels.targets[part.index], probabilities, halves)


def _measures(task: NodeTask, *, alike: bool) -> Measures:
    labels, part = task.labels, task.split.train.index
    weights = None if labels.weights is None else labels.weights[part]
    counts = np.bincount(labels.targets[part], weights, minlength=len(labels.classes)).astype(np.float64)

    def metrics(part: PartPredictions, probabilities: Floats, threshold: float | None) -> dict[str, float]:
        return node_metrics(part.targets, probabilities, labels.classes, task.positive, threshold)

    return Measures(
        labels.classes,
        None if task.positive is None else labels.classes.index(task.positive),
        counts,
        _class_weights(task).double().numpy() if task.config.train.class_weights else None,
        metrics,
        task.decisions.precision,
        task.decisions.prevalence,
        alike,
        later=task.split.validation.as_of > task.split.train.as_of,
    )
