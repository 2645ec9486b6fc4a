"""Gradient-boosted trees on plain statistics: the rival that has to be beaten.

For accounts a tree sees what each does altogether (how often, with how many, how much, how regularly) and nothing of
with whom and in which order; for pairs ``sampling.pair_statistics``. Where it does as well as a model of pair
histories, use the tree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier


class Trees(NamedTuple):
    """The trees of a forest in the order in which they were grown, and their nodes, one tree after the other."""

    baseline: NDArray[np.float64]
    """One logit for each class, from which the trees go on."""
    tree_root: NDArray[np.int64]
    tree_class: NDArray[np.int64]
    """The class whose logit a tree adds to."""
    node_left: NDArray[np.int64]
    """The child for values up to the threshold; -1 for a leaf."""
    node_right: NDArray[np.int64]
    node_feature: NDArray[np.int64]
    node_threshold: NDArray[np.float64]
    node_missing_left: NDArray[np.uint8]
    """Whether NaN goes left."""
    node_value: NDArray[np.float64]

    @staticmethod
    def dtypes() -> dict[str, np.dtype[Any]]:
        """The type of each array."""
        floats, small = ("baseline", "node_threshold", "node_value"), ("node_missing_left",)
        kinds = {name: np.dtype(np.int64) for name in Trees._fields}
        return kinds | dict.fromkeys(floats, np.dtype(np.float64)) | dict.fromkeys(small, np.dtype(np.uint8))

    @staticmethod
    def empty(num_classes: int) -> Trees:
        """A forest without trees: every class has logit 0."""
        nothing = {name: np.zeros(0, dtype) for name, dtype in Trees.dtypes().items()}
        return Trees(**{**nothing, "baseline": np.zeros(num_classes)})


def grow(
    rows: NDArray[np.floating[Any]],
    targets: NDArray[np.int64],
    weights: NDArray[np.float64],
    num_classes: int,
    seed: int,
) -> Trees:
    """Fit scikit-learn's trees, a hundred rounds with its other defaults, and take them out as arrays."""
    present = np.unique(targets)
    baseline = np.full(num_classes, -np.inf)
    baseline[present] = 0
    if len(present) == 1:
        return Trees.empty(num_classes)._replace(baseline=baseline)
    # No early stopping: it would set examples aside by chance, beside the validation part that there is.
    booster = HistGradientBoostingClassifier(random_state=seed, early_stopping=False)
    booster.fit(rows, targets, sample_weight=weights)
    # Two classes have one logit, that of the second.
    columns = present[1:] if len(present) == 2 else present
    baseline[columns] = booster._baseline_prediction.ravel()
    grown = [(columns[place], tree.nodes) for row in booster._predictors for place, tree in enumerate(row)]
    return _as_arrays(baseline, grown)


def _as_arrays(baseline: NDArray[np.float64], grown: list[tuple[Any, NDArray[Any]]]) -> Trees:
    nodes = np.concatenate([own for _, own in grown])
    sizes = [len(own) for _, own in grown]
    roots = np.cumsum([0, *sizes[:-1]])
    first = np.repeat(roots, sizes)
    leaf = nodes["is_leaf"] == 1
    return Trees(
        baseline,
        roots.astype(np.int64),
        np.array([place for place, _ in grown], dtype=np.int64),
        np.where(leaf, -1, first + nodes["left"]),
        np.where(leaf, -1, first + nodes["right"]),
        np.where(leaf, 0, nodes["feature_idx"]).astype(np.int64),
        np.where(leaf, 0, nodes["num_threshold"]),
        nodes["missing_go_to_left"].astype(np.uint8),
        nodes["value"].astype(np.float64),
    )
