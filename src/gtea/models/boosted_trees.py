"""Gradient-boosted trees on statistics: the strongest simple baseline, and one half of the hybrid.

For accounts the trees read account statistics: event counts, partners, amounts, time gaps. They see neither who an
account deals with nor in which order. For pairs they read ``gtea.features.pair_statistics``. Where trees do as well as
a model of pair histories, use the trees.

scikit-learn fits the trees. It saves them as pickles, which can run code when loaded, so the fitted trees are copied to
plain arrays here: saved as tensors, checked when loaded, and evaluated by a small compiled function.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gtea.errors import ModelError
from gtea.models.tree_sums import TreeArrays, TreeSteps, mean_of_trees, steps_of, sum_leaves


class TabularModel(nn.Module, ABC):
    """A model that is fitted to all training examples at once. Saved, loaded and scored like the networks.

    What it learns is stored in buffers, so that it is part of the state dict.
    """

    @abstractmethod
    def fit(self, rows: Tensor, targets: Tensor, weights: Tensor) -> None:
        """Fit the model.

        Args:
            rows: All training examples as one batch.
            targets: The class of each example, [num_examples].
            weights: The weight of each example, [num_examples].
        """


@dataclass(frozen=True)
class TreeSettings:
    """How trees are fitted. The defaults are those of scikit-learn."""

    learning_rate: float = 0.1
    num_rounds: int = 100
    max_leaves: int = 31
    column_share: float = 1.0
    """The share of the columns among which each split chooses."""
    l2: float = 0.0
    """The L2 penalty of leaf values."""


_PLAIN = TreeSettings()
STRONG = TreeSettings(learning_rate=0.05, num_rounds=200, max_leaves=15, column_share=0.3, l2=3.0)
"""Smaller steps, smaller trees and fewer columns per split: less overconfident, and better on every table that was
tried (docs/decisions/0029)."""
_MIN_LEAF, _LEAVES_PER_CLASS = 20, 4
"""A leaf holds at least 20 examples or, of few labels, a quarter of the rarest class."""


class BoostedTrees(TabularModel):
    """Class logits of rows of features. A class without training examples has logit -inf and probability 0."""

    def __init__(self, d_in: int, num_classes: int, seed: int, settings: TreeSettings = _PLAIN) -> None:
        super().__init__()
        self._d_in = d_in
        self._num_classes = num_classes
        self._seed = seed
        self._settings = settings
        self._known: tuple[list[Tensor], TreeArrays, TreeSteps] | None = None
        for name, array in TreeArrays.empty(num_classes)._asdict().items():
            self.register_buffer(name, torch.from_numpy(array))

    def fit(self, rows: Tensor, targets: Tensor, weights: Tensor) -> None:
        """Fit the trees."""
        examples = rows.cpu().numpy(), targets.cpu().numpy().astype(np.int64), weights.double().cpu().numpy()
        self._set(_fit_trees(*examples, self._num_classes, self._seed, self._settings))

    def take_mean(self, others: Sequence[BoostedTrees]) -> None:
        """Answer with the mean of the logits of others, which were fitted to the same columns and classes."""
        self._set(mean_of_trees([other._trees() for other in others]))

    def forward(self, rows: Tensor) -> Tensor:
        """Logits, [num_rows, num_classes]."""
        # Compiled code does not check bounds.
        assert rows.dim() == 2, "one row per example"
        assert rows.shape[1] == self._d_in, "trees read as many columns as they were fitted to"
        return torch.from_numpy(sum_leaves(*self._prepared(), rows.double().cpu().numpy())).to(rows.device)

    def _prepared(self) -> tuple[TreeArrays, TreeSteps]:
        """The trees and their steps, which are made once: for a few rows that would take as long as the rest."""
        buffers = [getattr(self, name) for name in TreeArrays._fields]
        if self._known is None or any(one is not other for one, other in zip(self._known[0], buffers, strict=True)):
            trees = self._trees()
            self._known = buffers, trees, steps_of(trees)
        return self._known[1:]

    def _set(self, trees: TreeArrays) -> None:
        for name, array in trees._asdict().items():
            setattr(self, name, torch.from_numpy(array))

    def _trees(self) -> TreeArrays:
        return TreeArrays(*(getattr(self, name).cpu().numpy() for name in TreeArrays._fields))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Resize the buffers to those of the file before loading; torch would require the sizes of unfitted trees."""
        for name in TreeArrays._fields:
            if prefix + name in state_dict:
                setattr(self, name, torch.empty_like(state_dict[prefix + name]))
        super()._load_from_state_dict(state_dict, prefix, *rest)
        _require_valid(self._trees(), self._d_in, self._num_classes)


class PairBoostedTrees(BoostedTrees):
    """Link logits of rows of features."""

    def __init__(self, d_in: int, seed: int, settings: TreeSettings = _PLAIN) -> None:
        super().__init__(d_in, 2, seed, settings)

    def forward(self, rows: Tensor) -> Tensor:
        """Logits, [num_rows]."""
        logits = super().forward(rows)
        return logits[:, 1] - logits[:, 0]


def _fit_trees(
    rows: NDArray[np.floating[Any]],
    targets: NDArray[np.int64],
    weights: NDArray[np.float64],
    num_classes: int,
    seed: int,
    settings: TreeSettings,
) -> TreeArrays:
    """Fit scikit-learn's trees and convert them to arrays."""
    # Only those who fit trees pay for it: with pandas and SciPy it is a third of what a process imports.
    from sklearn.ensemble import HistGradientBoostingClassifier

    present = np.unique(targets)
    baseline = np.full(num_classes, -np.inf)
    baseline[present] = 0
    if len(present) == 1:
        return TreeArrays.empty(num_classes)._replace(baseline=baseline)
    # No early stopping: it would hold out random examples, although there is a validation part already.
    booster = HistGradientBoostingClassifier(
        learning_rate=settings.learning_rate,
        max_iter=settings.num_rounds,
        max_leaf_nodes=settings.max_leaves,
        max_features=settings.column_share,
        l2_regularization=settings.l2,
        min_samples_leaf=_MIN_LEAF if settings == _PLAIN else _min_leaf(targets),
        random_state=seed,
        early_stopping=False,
    )
    # Weights of 1 change nothing but the time: scikit-learn's weighted quantiles take ten times as long as the trees.
    booster.fit(rows, targets, sample_weight=None if (weights == 1).all() else weights)
    # Two classes have a single logit, that of the second.
    columns = present[1:] if len(present) == 2 else present
    baseline[columns] = booster._baseline_prediction.ravel()
    fitted = [(columns[i], tree.nodes) for row in booster._predictors for i, tree in enumerate(row)]
    return _as_arrays(baseline, fitted)


def _min_leaf(targets: NDArray[np.int64]) -> int:
    """With 20 labels, leaves of 20 would allow no split at all."""
    rarest = int(np.unique(targets, return_counts=True)[1].min())
    return min(_MIN_LEAF, max(2, rarest // _LEAVES_PER_CLASS))


def _as_arrays(baseline: NDArray[np.float64], fitted: list[tuple[Any, NDArray[Any]]]) -> TreeArrays:
    nodes = np.concatenate([tree for _, tree in fitted])
    sizes = [len(tree) for _, tree in fitted]
    roots = np.cumsum([0, *sizes[:-1]])
    first = np.repeat(roots, sizes)
    leaf = nodes["is_leaf"] == 1
    return TreeArrays(
        baseline,
        roots.astype(np.int64),
        np.array([column for column, _ in fitted], dtype=np.int64),
        np.where(leaf, -1, first + nodes["left"]),
        np.where(leaf, -1, first + nodes["right"]),
        np.where(leaf, 0, nodes["feature_idx"]).astype(np.int64),
        np.where(leaf, 0, nodes["num_threshold"]),
        nodes["missing_go_to_left"].astype(np.uint8),
        nodes["value"].astype(np.float64),
    )


def _require_valid(trees: TreeArrays, d_in: int, num_classes: int) -> None:
    """Refuse arrays with indices out of range: compiled code does not check bounds.

    Children must come after their parents and belong to the same tree: every descent ends, and all descents of a row
    together visit no node twice.
    """
    num_nodes, arrays = len(trees.node_left), trees._asdict()
    valid = (
        all(array.ndim == 1 and array.dtype == TreeArrays.dtypes()[name] for name, array in arrays.items())
        and {len(array) for name, array in arrays.items() if name.startswith("node_")} == {num_nodes}
        and len(trees.tree_root) == len(trees.tree_class)
        and len(trees.baseline) == num_classes
        and trees.tree_root[:1].tolist() == ([0] if num_nodes else [])
        and bool((np.diff(trees.tree_root) > 0).all())
        and _within(trees.tree_root, 0, num_nodes)
        and _within(trees.tree_class, 0, num_classes)
        and _descents_end(trees, d_in)
        and bool(np.isfinite(trees.node_value).all())
        and not (np.isnan(trees.baseline) | np.isposinf(trees.baseline)).any()
    )
    if not valid:
        raise ModelError("its trees are inconsistent. The model is damaged; train it again.")


def _descents_end(trees: TreeArrays, d_in: int) -> bool:
    inner = np.flatnonzero(trees.node_left >= 0)
    ends = np.append(trees.tree_root[1:], len(trees.node_left))
    end = ends[np.searchsorted(trees.tree_root, inner, side="right") - 1]
    children = (trees.node_left[inner], trees.node_right[inner])
    return _within(trees.node_feature[inner], 0, d_in) and all(_within(child, inner + 1, end) for child in children)


def _within(values: NDArray[Any], low: int | NDArray[np.int64], stop: int | NDArray[np.int64]) -> bool:
    return bool(((values >= low) & (values < stop)).all())
