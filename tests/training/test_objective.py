"""Weights of examples and classes in the loss."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from gtea.training.objective import class_weights, example_weights, weighted_mean


def test_an_example_of_weight_2_counts_like_two() -> None:
    rng = np.random.default_rng(0)
    logits, targets = torch.from_numpy(rng.normal(size=(9, 3))), torch.from_numpy(rng.integers(3, size=9))
    weights = np.array([1, 2, 3, 0, 1, 1, 2, 0, 5], dtype=np.float64)
    rows = torch.from_numpy(np.repeat(np.arange(9), weights.astype(int)))
    losses = functional.cross_entropy(logits, targets, reduction="none")
    repeated = functional.cross_entropy(logits[rows], targets[rows])
    torch.testing.assert_close(weighted_mean(losses, torch.from_numpy(weights)), repeated)
    torch.testing.assert_close(weighted_mean(losses, example_weights(weights * 1e100).double()), repeated)


def test_balanced_classes_weigh_the_same_in_sum() -> None:
    targets, own = np.array([0, 0, 0, 1, 1, 3]), np.array([1.0, 2, 3, 1, 1, 4])
    per_class = class_weights(targets, own, 4, balanced=True)
    sums = np.bincount(targets, own * per_class.numpy()[targets], minlength=4)
    assert sums[[0, 1, 3]] == pytest.approx([3.0, 3.0, 3.0])
    assert per_class[2] == 0
    repeated = class_weights(np.repeat(targets, own.astype(int)), None, 4, balanced=True)
    assert torch.equal(per_class, repeated)
    assert torch.equal(class_weights(targets, own, 4, balanced=False), torch.ones(4))
