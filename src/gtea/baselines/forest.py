"""Gradient-boosted trees as plain arrays: saved as numbers, checked when loaded, and summed by a small kernel.

scikit-learn grows the trees (``baselines.tree``) but can only save them by pickle, which can run code when it is
loaded. What a tree knows is a few numbers a node, and those are all that is kept here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gtea.baselines.fitted import FittedAtOnce
from gtea.baselines.tree import Trees, grow
from gtea.errors import ModelError
from gtea.runtime.jit import jit


class Forest(FittedAtOnce):
    """Class logits of rows of features: a baseline and the leaf values of each class's trees.

    Where a training part lacks a class, its logit is -inf and its probability 0.
    """

    def __init__(self, d_in: int, num_classes: int, seed: int) -> None:
        super().__init__()
        self._d_in = d_in
        self._num_classes = num_classes
        self._seed = seed
        for name, array in Trees.empty(num_classes)._asdict().items():
            self.register_buffer(name, torch.from_numpy(array))

    def fit(self, rows: Tensor, answers: Tensor, weights: Tensor) -> None:
        """Grow the trees."""
        examples = rows.cpu().numpy(), answers.cpu().numpy().astype(np.int64), weights.double().cpu().numpy()
        for name, array in grow(*examples, self._num_classes, self._seed)._asdict().items():
            setattr(self, name, torch.from_numpy(array))

    def forward(self, rows: Tensor) -> Tensor:
        """Logits, [num_rows, num_classes]."""
        return torch.from_numpy(raw_sums(self._trees(), rows.double().cpu().numpy())).to(rows.device)

    def _trees(self) -> Trees:
        return Trees(*(getattr(self, name).cpu().numpy() for name in Trees._fields))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """As many nodes as the file has; torch would insist on those of a forest that is yet to grow."""
        for name in Trees._fields:
            if prefix + name in state_dict:
                setattr(self, name, torch.empty_like(state_dict[prefix + name]))
        super()._load_from_state_dict(state_dict, prefix, *rest)
        _require_sound(self._trees(), self._d_in, self._num_classes)


class PairForest(Forest):
    """Link logits of rows of features."""

    def __init__(self, d_in: int, seed: int) -> None:
        super().__init__(d_in, 2, seed)

    def forward(self, rows: Tensor) -> Tensor:
        """Logits, [num_rows]."""
        logits = super().forward(rows)
        return logits[:, 1] - logits[:, 0]


@jit
def raw_sums(trees: Trees, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The baseline plus each tree's leaf for each row, in the order in which the trees were grown."""
    sums = np.empty((len(rows), len(trees.baseline)))
    for i in range(len(rows)):
        sums[i] = trees.baseline
        for tree in range(len(trees.tree_class)):
            node = trees.tree_root[tree]
            while trees.node_left[node] >= 0:
                value, missing_left = rows[i, trees.node_feature[node]], trees.node_missing_left[node] == 1
                left = missing_left if np.isnan(value) else value <= trees.node_threshold[node]
                node = trees.node_left[node] if left else trees.node_right[node]
            sums[i, trees.tree_class[tree]] += trees.node_value[node]
    return sums


def _require_sound(trees: Trees, d_in: int, num_classes: int) -> None:
    """Compiled code doesn't look before it reads: every number that leads somewhere must lead to a place there is.

    Children come after their parents, so that every walk ends.
    """
    num_nodes = len(trees.node_left)
    inner = np.flatnonzero(trees.node_left >= 0)
    arrays = trees._asdict()
    sound = (
        all(array.ndim == 1 and array.dtype == Trees.dtypes()[name] for name, array in arrays.items())
        and {len(array) for name, array in arrays.items() if name.startswith("node_")} == {num_nodes}
        and len(trees.tree_root) == len(trees.tree_class)
        and len(trees.baseline) == num_classes
        and _within(trees.tree_root, 0, num_nodes)
        and _within(trees.tree_class, 0, num_classes)
        and _within(trees.node_feature[inner], 0, d_in)
        and _within(trees.node_left[inner] - inner, 1, num_nodes)
        and _within(trees.node_right[inner] - inner, 1, num_nodes)
        and _within(trees.node_left[inner], 0, num_nodes)
        and _within(trees.node_right[inner], 0, num_nodes)
    )
    if not sound:
        raise ModelError("model: its trees don't fit together. The model is damaged; train it again.")


def _within(values: NDArray[Any], low: int, stop: int) -> bool:
    return bool(((values >= low) & (values < stop)).all())
