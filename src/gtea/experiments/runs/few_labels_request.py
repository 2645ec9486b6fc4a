"""Train on a few labelled accounts, drawn at random, and test on the others.

The model gets as many labels of each class as it may use, and nothing of the others: a quarter of them, the accounts
that appeared last, are its validation part, as in ``GTEAClassifier.fit``. All accounts are seen as of the end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import UsageError
from gtea.models.model_folder import SavedModel
from gtea.scoring.scorer import NodeModel
from gtea.tasks.labels import Labels, class_counts, labels_from_arrays
from gtea.tasks.metrics import Floats, average_precision, log_likelihood, macro_f1, roc_auc
from gtea.tasks.splits import Split, validation_split
from gtea.training.request import NodeRequest

MAX_TEST = 4_000
"""More test accounts would take longer to score and change hardly anything."""
_FEWEST = 10
"""Of either class, to test on."""


@dataclass(frozen=True)
class FewLabelsRequest(NodeRequest):
    """A request to train with a few labels. ``labels`` are only those that the model may use."""

    test: Labels = field(kw_only=True)
    """The labels of accounts that the model is tested on."""

    @staticmethod
    def draw(request: NodeRequest, data: str, per_class: int, draw: int) -> FewLabelsRequest:
        """Draw the accounts that may be used and those to test on.

        Args:
            request: A request with all labels.
            data: The name of the data set. Name, number and draw are the seed.
            per_class: How many accounts of each class may be used.
            draw: The number of the draw.
        """
        if request.positive is None:
            names = ", ".join(map(repr, request.labels.classes))
            raise UsageError(f"{data}: must have two classes (got {names}). Choose other data.")
        given, others = draw_accounts(request.labels.targets, request.labels.classes, data, per_class, draw)
        fields = {name: getattr(request, name) for name in NodeRequest.__dataclass_fields__}
        fields["labels"] = _subset(request, given, data)
        return FewLabelsRequest(**fields, test=_subset(request, others, data))

    def split(self) -> Split:
        """Hold out a quarter of the labels that may be used. There is no test part: the model must not see it."""
        return validation_split(self.labels, self.store, as_of=self.as_of)

    def test_part(self) -> dict[str, Any]:
        """The numbers of test accounts, in all, by class, and of the positive class."""
        classes = class_counts(self.test.targets, self.test.classes)
        assert self.positive is not None
        return {"accounts": len(self.test), "classes": classes, "positive": classes[self.positive]}

    def test_metrics(self, model: SavedModel) -> dict[str, float]:
        """Score the test accounts, exactly, as ``gtea score`` does."""
        ready = NodeModel(model, self.device)
        probabilities = ready.probabilities(self.store, self.store.as_of(self.as_of).cut, self.test.nodes)
        return few_labels_metrics(self.test.targets, probabilities, ready.decide(probabilities), ready.positive_column)


def draw_accounts(
    targets: NDArray[np.int64], classes: tuple[str, ...], data: str, per_class: int, draw: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices of accounts to use, as many of each class, and of at most ``MAX_TEST`` others to test on."""
    counts = class_counts(targets, classes)
    _require_enough({name: max(count - per_class, 0) for name, count in counts.items()}, data, per_class)
    name = int.from_bytes(hashlib.sha256(data.encode()).digest()[:8])
    rng = np.random.default_rng([name, per_class, draw])
    members = [np.flatnonzero(targets == target) for target in range(len(classes))]
    given = np.sort(np.concatenate([rng.choice(each, per_class, replace=False) for each in members]))
    others = np.setdiff1d(np.arange(len(targets)), given)
    test = np.sort(rng.choice(others, min(len(others), MAX_TEST), replace=False))
    _require_enough(class_counts(targets[test], classes), data, per_class)
    return given, test


def few_labels_metrics(
    targets: NDArray[np.int64], probabilities: Floats, predicted: NDArray[np.int64], positive: int
) -> dict[str, float]:
    """The figures of a model.

    The labels were drawn balanced, and the test accounts are not. So probabilities are right for equal classes only,
    and in the log-likelihood both classes count the same.

    Args:
        targets: The classes of the accounts, 0 or 1.
        probabilities: One row per account, one column per class.
        predicted: The classes that the model decides for.
        positive: The place of the positive class.
    """
    truth, scores = targets == positive, probabilities[:, positive]
    by_class = [log_likelihood(targets[own], probabilities[own]) for own in (truth, ~truth)]
    return {
        "average_precision": average_precision(truth, scores),
        "balanced_log_likelihood": sum(by_class) / 2,
        "macro_f1": macro_f1(targets, predicted),
        "roc_auc": roc_auc(truth, scores),
    }


def _require_enough(left: Mapping[str, int], data: str, per_class: int) -> None:
    rarest = min(left, key=lambda name: left[name])
    if left[rarest] < _FEWEST:
        raise UsageError(
            f"--sizes {per_class}: must leave at least {_FEWEST} accounts of either class of {data} to test on "
            f"(got {left[rarest]} of {rarest!r}). Use smaller sizes."
        )


def _subset(request: NodeRequest, index: NDArray[np.int64], name: str) -> Labels:
    labels, equal = request.labels, np.ones(len(index))
    return labels_from_arrays(labels.nodes[index], labels.targets[index], labels.classes, request.store, name, equal)
