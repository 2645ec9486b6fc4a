"""Blend several models of the same classes into one: a weighted sum of their log probabilities.

    log p(c) = sum_k w_k log p_k(c) - log of the sum over classes,  w_k >= 0

The weights are fitted by the log-likelihood of the validation part. Their sum is free, so that each w_k includes the
temperature of model k: a model that is too sure gets a smaller weight. They are drawn to weights that sum to 1 and
favour the better models,

    minimise  - sum_i log p(y_i)  +  10 sum_k (w_k - v_k)^2,   v = softmax(2 l / sqrt(n)),

where l_k is the log-likelihood of model k alone over the n examples: a difference that could be chance hardly counts.
So a handful of validation examples can't decide much, and a few hundred can. The problem is convex.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

_SHRINKAGE = 10.0
_MAX_SWEEPS = 200
_TOLERANCE = 1e-9

Floats = NDArray[np.float64]


class Blend(nn.Module):
    """The weighted sum of log probabilities of some models. Equal weights until it is fitted."""

    weights: Tensor

    def __init__(self, num_models: int) -> None:
        super().__init__()
        self.register_buffer("weights", torch.full((num_models,), 1 / num_models, dtype=torch.float64))

    def forward(self, log_probabilities: Tensor) -> Tensor:
        """Logits, [num_rows, num_classes], of log probabilities [num_rows, num_models, num_classes]."""
        return torch.einsum("k,nkc->nc", self.weights.to(log_probabilities), log_probabilities)

    def fit(self, log_probabilities: Floats, targets: NDArray[np.int64], example_weights: Floats | None = None) -> None:
        """Fit the weights to the classes of validation examples."""
        self.weights = torch.from_numpy(blend_weights(log_probabilities, targets, example_weights)).to(self.weights)


def blend_weights(
    log_probabilities: Floats, targets: NDArray[np.int64], example_weights: Floats | None = None
) -> Floats:
    """The weight of each model, by Newton's method for one weight at a time.

    Args:
        log_probabilities: [num_examples, num_models, num_classes], finite.
        targets: The class of each example.
        example_weights: The weight of each example; 1 if None.
    """
    counts = np.ones(len(targets)) if example_weights is None else np.asarray(example_weights, dtype=np.float64)
    num_models = log_probabilities.shape[1]
    of_target = log_probabilities[np.arange(len(targets)), :, targets]
    favoured = _softmax(2 * (counts @ of_target)[None] / np.sqrt(max(counts.sum(), 1.0)))[0]
    weights: Floats = favoured.copy()
    for _ in range(_MAX_SWEEPS):
        before = weights.copy()
        for k in range(num_models):
            column = log_probabilities[:, k]
            chances = _softmax(np.einsum("k,nkc->nc", weights, log_probabilities))
            mean = (chances * column).sum(1)
            slope = counts @ (mean - of_target[:, k]) + 2 * _SHRINKAGE * (weights[k] - favoured[k])
            curvature = counts @ ((chances * column**2).sum(1) - mean**2) + 2 * _SHRINKAGE
            # The curvature changes along the way: a step of at most 0.2 can't overshoot by much.
            weights[k] = max(weights[k] - np.clip(slope / curvature, -0.2, 0.2), 0.0)
        if np.abs(weights - before).max() < _TOLERANCE:
            break
    return weights


def _softmax(logits: Floats) -> Floats:
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: Floats = odds / odds.sum(axis=1, keepdims=True)
    return shares
