"""A normaliser as torch sees it: weights forward, the gradient in closed form backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from gtea.nn.normalisers.groups import Groups

Weights = Callable[[Tensor, Groups], Tensor]
"""From logits z to weights p."""
Gradient = Callable[[Tensor, Tensor, Groups], Tensor]
"""From the weights p and the gradient by p to the gradient by z."""


class ClosedForm(torch.autograd.Function):
    """Keeps nothing but the weights for the way back; sorting and gaps never meet autograd."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, groups: Groups, weights: Weights, gradient: Gradient) -> Tensor:
        """The weights p."""
        p = weights(z, groups)
        ctx.groups, ctx.gradient = groups, gradient
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor, None, None, None]:
        """The gradient by z."""
        (p,) = ctx.saved_tensors
        return ctx.gradient(p, grads[0], ctx.groups), None, None, None


def with_gradient(z: Tensor, groups: Groups, weights: Weights, gradient: Gradient) -> Tensor:
    """The weights of z, with the given gradient behind them."""
    p: Tensor = ClosedForm.apply(z, groups, weights, gradient)  # type: ignore[no-untyped-call]
    return p
