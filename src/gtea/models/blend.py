"""Blend several models of the same classes into one: a weighted sum of their log probabilities.

    log p(c) = sum_k w_k log p_k(c) - log of the sum over classes,  w_k >= 0

The weights are fitted by the log-likelihood of the validation part. Their sum is free, so that each w_k includes the
temperature of model k: a model that is too sure gets a smaller weight. They are drawn to weights that sum to 1 and
favour the better models,

    minimise  - sum_i log p(y_i)  +  r (1 + 200 / n) sum_k (w_k - v_k)^2,   v_k = t_k exp(b l_k / sqrt(n)) / sum,

where l_k is the log-likelihood of model k alone over the n examples: a difference that could be chance hardly counts.
A model whose epoch was chosen on the same examples looks better there than it is. It gets t_k = n / (n + 200), any
other t_k = 1. So a handful of validation examples decides little, and a few hundred do. The problem is convex.

r and b say how far the validation part speaks for what will be scored (``Trust``). If it was drawn from the same time
as the training part, it does. If it is later, what will be scored is later still, and it decides a little less. If its
class shares differ, too, it hardly speaks for anything but itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

_MANY = 200
"""From about this many examples on, they decide."""
_MAX_STEPS = 100
_MAX_HALVINGS = 40
_ENOUGH = 1e-4
_TOLERANCE = 1e-10

Floats = NDArray[np.float64]


class Trust(NamedTuple):
    """How far validation examples decide."""

    shrinkage: float
    """r: how strongly weights are drawn to v."""
    evidence: float
    """b: how strongly v favours models with a higher likelihood."""


SAME_TIME, LATER, OTHER_SHARES = Trust(10.0, 2.0), Trust(30.0, 2.0), Trust(200.0, 0.0)


class Blend(nn.Module):
    """The weighted sum of log probabilities of some models. Equal weights until it is fitted."""

    weights: Tensor

    def __init__(self, num_models: int) -> None:
        super().__init__()
        self.register_buffer("weights", torch.full((num_models,), 1 / num_models, dtype=torch.float64))

    def forward(self, log_probabilities: Tensor) -> Tensor:
        """Logits, [num_rows, num_classes], of log probabilities [num_rows, num_models, num_classes]."""
        return torch.einsum("k,nkc->nc", self.weights.to(log_probabilities), log_probabilities)

    def fit(
        self,
        log_probabilities: Floats,
        targets: NDArray[np.int64],
        chosen: Sequence[int] = (),
        trust: Trust = SAME_TIME,
    ) -> None:
        """Fit the weights to the classes of validation examples. The arguments are those of ``blend_weights``."""
        fitted = blend_weights(log_probabilities, targets, chosen, trust)
        self.weights = torch.from_numpy(fitted).to(self.weights)


def blend_weights(
    log_probabilities: Floats,
    targets: NDArray[np.int64],
    chosen: Sequence[int] = (),
    trust: Trust = SAME_TIME,
) -> Floats:
    """The weight of each model, by Newton's method for all weights at once.

    Sets of trees nearly agree: changing one weight at a time would take thousands of rounds.

    Args:
        log_probabilities: [num_examples, num_models, num_classes], finite.
        targets: The class of each example.
        chosen: The models whose epoch was chosen on the same examples.
        trust: How far the examples speak for what will be scored.
    """
    of_target = log_probabilities[np.arange(len(targets)), :, targets]
    total = max(len(targets), 1)
    shrinkage = trust.shrinkage * (1 + _MANY / total)
    share = np.ones(log_probabilities.shape[1])
    share[list(chosen)] = total / (total + _MANY)
    favoured = _softmax((np.log(share) + trust.evidence * of_target.sum(axis=0) / np.sqrt(total))[None])[0]

    def loss(weights: Floats) -> float:
        mixed = np.einsum("k,nkc->nc", weights, log_probabilities)
        likelihoods = of_target @ weights - np.logaddexp.reduce(mixed, axis=1)
        return float(shrinkage * ((weights - favoured) ** 2).sum() - likelihoods.sum())

    weights: Floats = favoured.copy()
    for _ in range(_MAX_STEPS):
        chances = _softmax(np.einsum("k,nkc->nc", weights, log_probabilities))
        means = np.einsum("nc,nkc->nk", chances, log_probabilities)
        slope = (means - of_target).sum(axis=0) + 2 * shrinkage * (weights - favoured)
        apart = log_probabilities - means[..., None]
        curvature = np.einsum("nc,njc,nkc->jk", chances, apart, apart, optimize=True)
        curvature += 2 * shrinkage * np.eye(len(weights))
        step = _quadratic_minimum(curvature, curvature @ weights - slope) - weights
        moved = _descend(loss, weights, step, float(slope @ step))
        if np.abs(moved - weights).max() < _TOLERANCE:
            return moved
        weights = moved
    return weights


def _quadratic_minimum(curvature: Floats, pull: Floats) -> Floats:
    """Where w curvature w / 2 - pull w is lowest, w >= 0: the best of the minima with some weights at 0."""
    found = []
    for kept in product((False, True), repeat=len(pull)):
        free, weights = np.array(kept), np.zeros(len(pull))
        weights[free] = np.linalg.solve(curvature[np.ix_(free, free)], pull[free])
        if (weights >= 0).all():
            found.append(weights)
    return min(found, key=lambda weights: float(weights @ curvature @ weights / 2 - pull @ weights))


def _descend(loss: Callable[[Floats], float], weights: Floats, step: Floats, promised: float) -> Floats:
    """The end of a step, halved until it lowers the loss by a part of what the slope promises."""
    before = loss(weights)
    for halvings in range(_MAX_HALVINGS):
        share = 0.5**halvings
        if loss(weights + share * step) <= before + _ENOUGH * share * promised:
            return weights + share * step
    return weights


def _softmax(logits: Floats) -> Floats:
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: Floats = odds / odds.sum(axis=1, keepdims=True)
    return shares
