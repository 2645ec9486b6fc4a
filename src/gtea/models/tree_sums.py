"""Fitted trees as plain arrays, and the sum of the leaves that rows of features fall into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtea.runtime.jit import jit

_ROWS_AT_A_TIME = 32
"""Rows that go through a tree before the next tree is read: both stay in the fastest cache."""


class TreeArrays(NamedTuple):
    """Trees in the order in which they were fitted, and the nodes of all trees, concatenated."""

    baseline: NDArray[np.float64]
    """The initial logit of each class, to which the trees add."""
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
        """The dtype of each array."""
        floats, small = ("baseline", "node_threshold", "node_value"), ("node_missing_left",)
        kinds = {name: np.dtype(np.int64) for name in TreeArrays._fields}
        return kinds | dict.fromkeys(floats, np.dtype(np.float64)) | dict.fromkeys(small, np.dtype(np.uint8))

    @staticmethod
    def empty(num_classes: int) -> TreeArrays:
        """No trees: every class has logit 0."""
        nothing = {name: np.zeros(0, dtype) for name, dtype in TreeArrays.dtypes().items()}
        return TreeArrays(**{**nothing, "baseline": np.zeros(num_classes)})


def mean_of_trees(sets: Sequence[TreeArrays]) -> TreeArrays:
    """Trees whose sum is the mean of the sums of several sets of trees: all of them, with smaller leaves."""
    sizes = [len(each.node_left) for each in sets]
    shifts = np.cumsum([0, *sizes[:-1]])
    joined = {name: np.concatenate([getattr(each, name) for each in sets]) for name in TreeArrays._fields}
    inner = joined["node_left"] >= 0
    of_node = np.repeat(shifts, sizes)
    return TreeArrays(**joined)._replace(
        baseline=np.mean([each.baseline for each in sets], axis=0),
        tree_root=np.concatenate([each.tree_root + shift for each, shift in zip(sets, shifts, strict=True)]),
        node_left=np.where(inner, joined["node_left"] + of_node, -1),
        node_right=np.where(inner, joined["node_right"] + of_node, joined["node_right"]),
        node_value=joined["node_value"] / len(sets),
    )


class TreeSteps(NamedTuple):
    """The nodes of all trees, so that a step needs no branch. A leaf's children are itself."""

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    child: NDArray[np.int32]
    """[num_nodes, 2]: the right child, then the left one."""
    depth: NDArray[np.int64]
    """The depth of each tree."""


@jit
def sum_leaves(trees: TreeArrays, steps: TreeSteps, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The baseline plus the leaf values of all trees for each row, added in the order in which they were fitted.

    Args:
        steps: Those of the trees.
    """
    sums = np.empty((len(rows), len(trees.baseline)))
    sums[:] = trees.baseline
    together = len(rows) // 4 * 4
    if together:
        _sum_by_four(trees, steps, rows[:together], sums)
    for i in range(together, len(rows)):
        for tree in range(len(trees.tree_class)):
            node = trees.tree_root[tree]
            while trees.node_left[node] >= 0:
                value, missing_left = rows[i, trees.node_feature[node]], trees.node_missing_left[node] == 1
                left = missing_left if np.isnan(value) else value <= trees.node_threshold[node]
                node = trees.node_left[node] if left else trees.node_right[node]
            sums[i, trees.tree_class[tree]] += trees.node_value[node]
    return sums


@jit
def _sum_by_four(trees: TreeArrays, steps: TreeSteps, rows: NDArray[np.float64], sums: NDArray[np.float64]) -> None:
    """Four rows go down a tree side by side, to the depth of its deepest leaf: no step waits for another row's."""
    for first in range(0, len(rows), _ROWS_AT_A_TIME):
        last = min(first + _ROWS_AT_A_TIME, len(rows))
        for tree in range(len(trees.tree_class)):
            column, root = trees.tree_class[tree], np.int32(trees.tree_root[tree])
            for i in range(first, last, 4):
                a = b = c = d = root
                for _ in range(steps.depth[tree]):
                    a = _step(steps, rows, i, a)
                    b = _step(steps, rows, i + 1, b)
                    c = _step(steps, rows, i + 2, c)
                    d = _step(steps, rows, i + 3, d)
                sums[i, column] += trees.node_value[a]
                sums[i + 1, column] += trees.node_value[b]
                sums[i + 2, column] += trees.node_value[c]
                sums[i + 3, column] += trees.node_value[d]


@jit
def _step(steps: TreeSteps, rows: NDArray[np.float64], row: int, node: np.int32) -> np.int32:
    """The child that a row goes to."""
    value = rows[row, steps.feature[node]]
    left = (value <= steps.threshold[node]) | (np.isnan(value) & steps.missing_left[node])
    child: np.int32 = steps.child[node, np.int64(left)]
    return child


@jit
def steps_of(trees: TreeArrays) -> TreeSteps:
    """Prepare trees whose children come after their parents."""
    count = len(trees.node_left)
    steps = TreeSteps(
        np.zeros(count, dtype=np.int32),
        np.zeros(count),
        np.zeros(count, dtype=np.bool_),
        np.empty((count, 2), dtype=np.int32),
        np.zeros(len(trees.tree_root), dtype=np.int64),
    )
    level = np.zeros(count, dtype=np.int64)
    for tree in range(len(trees.tree_root)):
        end = trees.tree_root[tree + 1] if tree + 1 < len(trees.tree_root) else count
        for node in range(trees.tree_root[tree], end):
            left, right = trees.node_left[node], trees.node_right[node]
            steps.depth[tree] = max(steps.depth[tree], level[node])
            if left < 0:
                steps.child[node] = node
                continue
            steps.feature[node], steps.threshold[node] = trees.node_feature[node], trees.node_threshold[node]
            steps.missing_left[node] = trees.node_missing_left[node] == 1
            steps.child[node, 0], steps.child[node, 1] = right, left
            level[left] = level[right] = level[node] + 1
    return steps
