"""Sampled scores: in the order asked, each node once, and never from a network in training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gtea.errors import ModelError
from gtea.scoring.sampled import LinkScorer, NodeScorer, require_finite

CPU = torch.device("cpu")


class _Rows:
    """Batches that hold the numbers of the nodes, and count them."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def batch(self, *ends: Any, epoch: int = 0) -> torch.Tensor:
        nodes = ends[:-1] if isinstance(ends[-1], int) else ends
        self.asked += nodes[0].tolist()
        return torch.stack([torch.from_numpy(np.asarray(end)) for end in nodes], dim=1).float()


class _Network(torch.nn.Module):
    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        assert not self.training
        return rows[:, 0] - rows[:, 1] if rows.shape[1] == 2 else torch.cat([rows, -rows], dim=1)


def test_nodes() -> None:
    rows = _Rows()
    scorer = NodeScorer(_Network(), rows, 2, CPU)
    nodes = np.array([3, 0, 3, 1, 2])
    assert scorer.outputs(nodes).tolist() == [[n, -n] for n in nodes.tolist()]
    assert sorted(rows.asked) == [0, 1, 2, 3]
    np.testing.assert_allclose(scorer.probabilities(nodes).sum(1), 1)
    assert (scorer.probabilities(nodes)[0] == scorer.probabilities(nodes)[2]).all()


def test_pairs() -> None:
    chances = LinkScorer(_Network(), _Rows(), 2, CPU).probabilities(np.array([1, 5, 2]), np.array([1, 2, 5]))
    np.testing.assert_allclose(chances, 1 / (1 + np.exp([0, -3, 3])), atol=1e-7)


def test_outputs_of_pairs_are_those_of_the_network() -> None:
    """One number each, or a table: that of a hybrid's models."""
    src, dst = np.array([1, 5, 2]), np.array([1, 2, 5])
    assert LinkScorer(_Network(), _Rows(), 2, CPU).outputs(src, dst).tolist() == [0, 3, -3]

    class _Tables(torch.nn.Module):
        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            return torch.stack([rows, 2 * rows], dim=1)

    found = LinkScorer(_Tables(), _Rows(), 2, CPU).outputs(src, dst)
    assert found.tolist() == [[[1, 1], [2, 2]], [[5, 2], [10, 4]], [[2, 5], [4, 10]]]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_refused(value: float) -> None:
    assert require_finite(np.ones(3)).tolist() == [1, 1, 1]
    with pytest.raises(ModelError, match="scores: must be finite"):
        require_finite(np.array([0.5, value]))
