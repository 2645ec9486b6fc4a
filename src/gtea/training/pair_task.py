"""Training a link predictor from pairs whose answers are given."""

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
from gtea.features.preprocessing import Preprocessing
from gtea.models.registry import PairBatches, entry_of
from gtea.sampling.pair_batches import ranked_statistics
from gtea.scoring.sampled import LinkScorer
from gtea.store.store import Store
from gtea.tasks.metrics import pair_metrics, threshold_of
from gtea.tasks.pair_split import PairSplit
from gtea.tasks.pairs import Pairs
from gtea.training.objective import Examples, Objective, class_weights, example_weights, weighted_mean


@dataclass(frozen=True)
class PairTask:
    """What is to be trained, on what, and where it goes."""

    store: Store
    pairs: Pairs
    """Of two classes, the second of which stands for a link."""
    split: PairSplit
    config: RunConfig
    folder: Path
    device: torch.device

    def choices(self) -> dict[str, Any]:
        """Which pair has which label."""
        return {"pairs": pairs_digest(self.pairs, self.store)}

    def answers(self) -> dict[str, Any]:
        """One answer, the probability of a link, and how the given labels say it."""
        return {"task": "links", "classes": list(self.pairs.classes), "positive": self.pairs.classes[1]}

    def neighbour_labels(self) -> None:
        """Accounts have no labels here."""

    def network(self, spec: InputSpec) -> nn.Module:
        """The configured family and, of networks, the head that the configuration names."""
        return entry_of(self.config.model).predictor(self.config.model, spec, self.config.train.seed)

    def objective(self, network: nn.Module, preprocessing: Preprocessing) -> Objective[Any]:
        """Binary cross-entropy of the training pairs."""
        part = self.split.train
        pairs = _batches(self, network, preprocessing, part.as_of)
        src, dst, truth = self.pairs.src[part.index], self.pairs.dst[part.index], _links(self.pairs)[part.index]
        targets, weights = torch.from_numpy(truth.astype(np.float32)), _weights(self)

        def make(items: NDArray[np.int64], epoch: int) -> Any:
            return pairs.batch(src[items], dst[items], epoch)

        def targets_of(items: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
            return targets[items], weights[items]

        def examples() -> Examples:
            rows = ranked_statistics(self.store.as_of(part.as_of), preprocessing)
            assert rows is not None, "who asks for statistics has a model with statistics"
            return Examples(rows(src, dst), targets, weights)

        def loss_of(items: NDArray[np.int64], batch: Any) -> Tensor:
            logits = network(batch.to(self.device))
            wanted = targets[items].to(self.device, logits.dtype)
            losses = functional.binary_cross_entropy_with_logits(logits, wanted, reduction="none")
            return weighted_mean(losses, weights[items].to(self.device))

        scorer = _scorer(self, network, preprocessing)

        def validate() -> Mapping[str, float]:
            return _figures(self, scorer)[0]

        return Objective(make, (len(part),), targets_of, loss_of, validate, examples)

    def evaluate(self, network: nn.Module, preprocessing: Preprocessing) -> dict[str, Any]:
        """The validation part; accuracy and F1 at the threshold that suits it."""
        figures, threshold = _figures(self, _scorer(self, network, preprocessing))
        return {"validation": figures, "threshold": threshold, "pairs": self.pairs.report}


def pairs_digest(pairs: Pairs, store: Store) -> str:
    """One sha256 over each pair's ids, label and weight."""
    ends = [store.accounts.take(nodes).to_pylist() for nodes in (pairs.src, pairs.dst)]
    digest = hashlib.sha256(json.dumps([pairs.classes, ends]).encode())
    for array in (pairs.targets, pairs.weights):
        digest.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _batches(run: PairTask, network: nn.Module, preprocessing: Preprocessing, cut: int) -> PairBatches:
    return entry_of(run.config.model).pair_batches(run.store, cut, preprocessing, run.config)


def _scorer(run: PairTask, network: nn.Module, preprocessing: Preprocessing) -> LinkScorer:
    batches = _batches(run, network, preprocessing, run.split.validation.as_of)
    return LinkScorer(network, batches, run.config.sampling.batch_size, run.device)


def _figures(run: PairTask, scorer: LinkScorer) -> tuple[dict[str, float], float]:
    """The figures of the validation part, and the threshold that suits it."""
    index = run.split.validation.index
    chances, truth = scorer.probabilities(run.pairs.src[index], run.pairs.dst[index]), _links(run.pairs)[index]
    threshold = threshold_of(truth, chances)
    return pair_metrics(truth, chances, threshold), threshold


def _links(pairs: Pairs) -> NDArray[np.bool_]:
    return np.asarray(pairs.targets == 1)


def _weights(run: PairTask) -> Tensor:
    """How much each training pair counts."""
    index, targets, own = run.split.train.index, run.pairs.targets, run.pairs.weights
    assert targets is not None
    own = np.ones(len(targets)) if own is None else own
    of_class = class_weights(targets[index], own[index], 2, balanced=run.config.train.class_weights)
    return example_weights(own[index]) * of_class[torch.from_numpy(targets[index])]
