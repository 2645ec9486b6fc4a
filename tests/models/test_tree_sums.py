"""Sums of leaves: many rows at once get, to the bit, what each gets alone by a plain walk."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from gtea.models.boosted_trees import BoostedTrees
from gtea.models.tree_sums import TreeArrays, steps_of, sum_leaves


def walked(trees: TreeArrays, row: NDArray[np.float64]) -> list[float]:
    """The plain definition."""
    sums: list[float] = trees.baseline.tolist()
    for root, column in zip(trees.tree_root, trees.tree_class, strict=True):
        node = int(root)
        while trees.node_left[node] >= 0:
            value = row[trees.node_feature[node]]
            left = bool(trees.node_missing_left[node]) if np.isnan(value) else value <= trees.node_threshold[node]
            node = int(trees.node_left[node] if left else trees.node_right[node])
        sums[column] += float(trees.node_value[node])
    return sums


def forest(num_classes: int) -> tuple[TreeArrays, NDArray[np.float64]]:
    chance = np.random.default_rng(0)
    rows = chance.normal(size=(700, 6))
    rows[chance.random(rows.shape) < 0.2] = np.nan
    targets = chance.integers(0, num_classes, len(rows))
    model = BoostedTrees(6, num_classes, seed=0)
    given: Any = (torch.from_numpy(rows), torch.from_numpy(targets), torch.ones(len(rows)))
    model.fit(*given)
    return model._trees(), rows


@pytest.mark.parametrize("num_classes", [2, 3])
def test_any_number_of_rows_gets_what_a_plain_walk_gives(num_classes: int) -> None:
    trees, rows = forest(num_classes)
    inner = trees.node_left >= 0
    rows[: inner.sum(), 0] = trees.node_threshold[inner][: len(rows)]  # where <= and < part
    expected = np.array([walked(trees, row) for row in rows[:131]])
    steps = steps_of(trees)
    for count in (0, 1, 3, 4, 5, 31, 33, 64, 131):
        assert sum_leaves(trees, steps, rows[:count]).tobytes() == expected[:count].tobytes()


def test_trees_that_are_leaves_only_and_no_trees_at_all() -> None:
    trees, rows = forest(2)
    leaf = trees._replace(
        **{name: getattr(trees, name)[:1] for name in TreeArrays._fields if name != "baseline"},
    )._replace(node_left=np.array([-1]), node_right=np.array([-1]), node_value=np.array([0.25]))
    assert (sum_leaves(leaf, steps_of(leaf), rows) == trees.baseline + np.array([0, 0.25])).all()
    assert (sum_leaves(TreeArrays.empty(2), steps_of(TreeArrays.empty(2)), rows) == 0).all()
