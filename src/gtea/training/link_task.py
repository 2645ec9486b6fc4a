"""Training a link predictor from a store: which pairs have an event in the time to come?

For each pair that does, one that doesn't is put beside it, drawn from what the part may see: anew in every epoch of
training, always the same for validation and test.
"""

from __future__ import annotations

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
from gtea.features.preprocessing import Preprocessing
from gtea.models.registry import PairBatches, entry_of
from gtea.sampling.negatives import NegativeSampler
from gtea.sampling.pair_batches import ranked_statistics
from gtea.scoring.sampled import LinkScorer
from gtea.store.store import Store
from gtea.tasks.link_split import LinkPart, LinkSplit
from gtea.tasks.metrics import best_threshold, link_metrics
from gtea.training.objective import Examples, Objective


@dataclass(frozen=True)
class LinkTask:
    """What is to be trained, on what, and where it goes."""

    store: Store
    split: LinkSplit
    config: RunConfig
    folder: Path
    device: torch.device

    def choices(self) -> dict[str, Any]:
        """The split says it all."""
        return {}

    def answers(self) -> dict[str, Any]:
        """One answer: the probability of a link."""
        return {"task": "links"}

    def neighbour_labels(self) -> None:
        """Accounts have no labels here."""

    def network(self, spec: InputSpec) -> nn.Module:
        """The configured family and, of networks, the head that the configuration names."""
        return entry_of(self.config.model).predictor(self.config.model, spec, self.config.train.seed)

    def objective(self, network: nn.Module, preprocessing: Preprocessing) -> Objective[Any]:
        """Binary cross-entropy of the training pairs and as many negatives."""
        windows = [_Window(self, network, preprocessing, part) for part in self.split.train_parts]
        sizes = tuple(map(len, self.split.train_parts))
        before = np.cumsum((0, *sizes))

        def make(items: NDArray[np.int64], epoch: int) -> Any:
            window = int(np.searchsorted(before, items[0], side="right")) - 1
            return windows[window].batch(items - before[window], epoch)

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

        judgement = _Judgement(self, network, preprocessing, self.split.validation)

        def validate() -> Mapping[str, float]:
            true, false = judgement.probabilities()
            return link_metrics(true, false, threshold=best_threshold(true, false))

        return Objective(make, sizes, targets_of, loss_of, validate, examples)

    def evaluate(self, network: nn.Module, preprocessing: Preprocessing) -> dict[str, Any]:
        """Each part on the graph that it may see; accuracy and F1 at the threshold that suits the validation part."""
        validation = _Judgement(self, network, preprocessing, self.split.validation).probabilities()
        test = _Judgement(self, network, preprocessing, self.split.test).probabilities()
        threshold = best_threshold(*validation)
        return {
            "validation": link_metrics(*validation, threshold=threshold),
            "test": link_metrics(*test, threshold=threshold),
            "threshold": threshold,
        }


def _batches(run: LinkTask, network: nn.Module, preprocessing: Preprocessing, part: LinkPart) -> PairBatches:
    return entry_of(run.config.model).pair_batches(run.store, part.as_of, preprocessing, run.config)


class _Window:
    """The pairs of a window of training, and the negatives beside them, drawn anew in every epoch."""

    def __init__(self, run: LinkTask, network: nn.Module, preprocessing: Preprocessing, part: LinkPart) -> None:
        self._part = part
        self._pairs = _batches(run, network, preprocessing, part)
        self._negatives = NegativeSampler(run.store.as_of(part.as_of), run.config.train.seed)

    def batch(self, items: NDArray[np.int64], epoch: int) -> Any:
        """Some positives, then as many negatives."""
        return self._pairs.batch(*self._ends(items, epoch), epoch)

    def examples(self, preprocessing: Preprocessing) -> Tensor:
        """Of all positives and the first epoch's negatives, the pairs' statistics as ranks."""
        rows = ranked_statistics(self._negatives.view, preprocessing)
        assert rows is not None, "who asks for statistics has a model with statistics"
        return rows(*self._ends(np.arange(len(self._part)), 0))

    def _ends(self, items: NDArray[np.int64], epoch: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        src, dst = self._part.src[items], self._part.dst[items]
        drawn = self._negatives.draw(src, items, epoch)
        return np.concatenate([src, src]), np.concatenate([dst, drawn])


class _Judgement:
    """The pairs of a part and the negatives beside them, which stay the same."""

    def __init__(self, run: LinkTask, network: nn.Module, preprocessing: Preprocessing, part: LinkPart) -> None:
        config, batches = run.config, _batches(run, network, preprocessing, part)
        view = run.store.as_of(part.as_of)
        self._part = part
        self._drawn = NegativeSampler(view, config.train.seed).draw(part.src, np.arange(len(part)))
        self._scorer = LinkScorer(network, batches, config.sampling.batch_size, run.device)

    def probabilities(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of the positives, and of the negatives as a column."""
        part = self._part
        positive = self._scorer.probabilities(part.src, part.dst)
        return positive, self._scorer.probabilities(part.src, self._drawn)[:, None]
