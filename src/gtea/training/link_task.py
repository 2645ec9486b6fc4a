"""The link prediction task: which pairs will have an event?

Each positive pair gets one negative, drawn from the graph as of the cut of its part. Training draws new negatives in
every epoch. Validation and test negatives are fixed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

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
from gtea.sampling.negatives import NegativeSampler
from gtea.sampling.pair_batches import ranked_statistics
from gtea.scoring.sampled import LinkScorer
from gtea.store.store import Store
from gtea.tasks.link_split import LinkPart, LinkSplit
from gtea.tasks.metrics import Floats, best_threshold, link_metrics
from gtea.tasks.split_warnings import split_warnings
from gtea.training.evaluation import Evaluation, Measures, PartPredictions, blended, evaluate_parts
from gtea.training.fitted import Fitted
from gtea.training.objective import Examples, Objective
from gtea.training.results import TaskOutputs


@dataclass(frozen=True)
class LinkTask:
    """Train a link predictor on the events of a store."""

    store: Store
    split: LinkSplit
    config: RunConfig
    folder: Path
    device: torch.device

    def identity(self) -> dict[str, Any]:
        """Nothing: the split determines the examples."""
        return {}

    def outputs(self) -> TaskOutputs:
        """One output: the probability of a link."""
        return {"task": "links"}

    def neighbour_labels(self) -> None:
        """None: accounts have no labels in this task."""

    def network(self, spec: InputSpec) -> nn.Module:
        """The configured model. Networks have the configured link head."""
        return entry_of(self.config.model).predictor(self.config.model, spec, self.config.train.seed)

    def objective(self, network: nn.Module, preprocessing: Preprocessing) -> Objective[Any]:
        """Binary cross-entropy over the training pairs and as many negatives."""
        windows = [_Window(self, preprocessing, part) for part in self.split.train_parts]
        sizes = tuple(map(len, self.split.train_parts))
        offsets = np.cumsum((0, *sizes))

        def make_batch(items: NDArray[np.int64], epoch: int) -> Any:
            window = int(np.searchsorted(offsets, items[0], side="right")) - 1
            return windows[window].batch(items - offsets[window], epoch)

        def targets_of(items: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
            # The positives come first.
            truth = (torch.arange(2 * len(items)) < len(items)).float()
            return truth, torch.ones_like(truth)

        def examples() -> Examples:
            rows = [window.examples(preprocessing) for window in windows]
            truth, weights = zip(*(targets_of(np.arange(size)) for size in sizes), strict=True)
            return Examples(torch.cat(rows), torch.cat(truth), torch.cat(weights))

        def loss_of(items: NDArray[np.int64], batch: Any) -> Tensor:
            logits = network(batch.to(self.device))
            truth, _ = targets_of(items)
            return functional.binary_cross_entropy_with_logits(logits, truth.to(logits))

        evaluation = _Evaluation(
            self, network, _batches(self, preprocessing, self.split.validation), self.split.validation
        )

        def validate() -> Mapping[str, float]:
            true, false = np.split(evaluation.probabilities()[:, 1], 2)
            return link_metrics(true, false[:, None], threshold=best_threshold(true, false[:, None]))

        return Objective(make_batch, sizes, targets_of, loss_of, validate, examples)

    def with_validation(self) -> tuple[LinkTask]:
        """The same task, but the validation window is the last training window."""
        parts = (*self.split.train_parts, self.split.validation)
        return (replace(self, split=replace(self.split, train_parts=parts)),)

    def held_out(self) -> tuple[()]:
        """No blocks."""
        return ()

    def evaluate(
        self, chosen: Fitted[nn.Module], final: Fitted[nn.Module], held_out: Sequence[Fitted[nn.Module]] = ()
    ) -> Evaluation:
        """The metrics of each part, as of its own cut."""
        parts = {"validation": (chosen, self.split.validation), "test": (final, self.split.test)}
        scored = {
            name: _Evaluation(
                self,
                EachModel(model.network) if isinstance(model.network, Hybrid) else model.network,
                _batches(self, model.preprocessing, part),
                part,
            )
            for name, (model, part) in parts.items()
        }
        if isinstance(final.network, Hybrid):
            by_model = {name: each.outputs() for name, each in scored.items()}
            found = blended(final.network.blend, by_model, scored["validation"].targets)
        else:
            found = {name: (each.probabilities(), {}) for name, each in scored.items()}
        predictions = {name: each.predictions(*found[name]) for name, each in scored.items()}
        evaluation = evaluate_parts(_MEASURES, predictions["validation"], predictions["test"])
        evaluation.metrics["warnings"] = [warning.to_json() for warning in split_warnings(self.split, self.store, None)]
        return evaluation

    def with_decisions(self, model: SavedModel) -> SavedModel:
        """The model as it is: budgets and prevalence are for accounts."""
        return model


def _metrics(part: PartPredictions, probabilities: Floats, threshold: float | None) -> dict[str, float]:
    """Those of a link task: the first half of the examples are links, each with its negative in the second half."""
    links, negatives = np.split(probabilities[:, 1], 2)
    return link_metrics(links, negatives[:, None], threshold=0.5 if threshold is None else threshold)


_MEASURES = Measures(("no link", "link"), 1, np.ones(2), None, _metrics, later=True, balanced=True)


def _batches(task: LinkTask, preprocessing: Preprocessing, part: LinkPart) -> PairBatches:
    return entry_of(task.config.model).pair_batches(task.store, part.as_of, preprocessing, task.config)


class _Window:
    """The positives of a training window, and negatives that are redrawn in every epoch."""

    def __init__(self, task: LinkTask, preprocessing: Preprocessing, part: LinkPart) -> None:
        self._part = part
        self._pairs = _batches(task, preprocessing, part)
        self._negatives = NegativeSampler(task.store.as_of(part.as_of), task.config.train.seed)

    def batch(self, items: NDArray[np.int64], epoch: int) -> Any:
        """Build a batch of some positives, followed by as many negatives."""
        return self._pairs.batch(*self._ends(items, epoch), epoch)

    def examples(self, preprocessing: Preprocessing) -> Tensor:
        """Return the rank-scaled statistics of all positives and of the negatives of the first epoch."""
        rows = ranked_statistics(self._negatives.view, preprocessing)
        assert rows is not None, "a hybrid has pair statistics"
        return rows(*self._ends(np.arange(len(self._part)), 0))

    def _ends(self, items: NDArray[np.int64], epoch: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        src, dst = self._part.src[items], self._part.dst[items]
        drawn = self._negatives.draw(src, items, epoch)
        return np.concatenate([src, src]), np.concatenate([dst, drawn])


class _Evaluation:
    """The positives of a part, followed by one fixed negative for each."""

    def __init__(self, task: LinkTask, network: nn.Module, batches: PairBatches, part: LinkPart) -> None:
        view = task.store.as_of(part.as_of)
        drawn = NegativeSampler(view, task.config.train.seed).draw(part.src, np.arange(len(part)))
        self._ends = np.concatenate([part.src, part.src]), np.concatenate([part.dst, drawn])
        self._store = task.store
        self._scorer = LinkScorer(network, batches, task.config.sampling.batch_size, task.device)
        self.targets = (np.arange(2 * len(part)) < len(part)).astype(np.int64)

    def outputs(self) -> Floats:
        """The network's output for each pair."""
        return self._scorer.outputs(*self._ends)

    def probabilities(self) -> Floats:
        """The probabilities of no link and of a link for each pair."""
        links = self._scorer.probabilities(*self._ends)
        return np.stack([1 - links, links], axis=1)

    def predictions(self, probabilities: Floats, halves: dict[str, Floats]) -> PartPredictions:
        """The pairs with their probabilities, [num_pairs, 2]."""
        src, dst = (self._store.accounts.take(end) for end in self._ends)
        return PartPredictions({"src": src, "dst": dst}, self.targets, probabilities, halves)
