"""From attention logits to attention weights: the one place that chooses how, by name."""

from __future__ import annotations

from torch import Tensor, nn

from gtea.config import Attention
from gtea.nn.normalisers.entmax15 import entmax15
from gtea.nn.normalisers.groups import Groups
from gtea.nn.normalisers.softmax import softmax
from gtea.nn.normalisers.sparsemax import sparsemax


class Normaliser(nn.Module):
    """Sparse of Eq. 5: alpha_u: = Sparse(alpha_tilde_u:), over the neighbours of one target at a time."""

    def __init__(self, attention: Attention) -> None:
        super().__init__()
        match attention:
            case "sparsemax":
                self._weights = sparsemax
            case "softmax":
                self._weights = softmax
            case "entmax15":
                self._weights = entmax15

    def forward(self, alpha_tilde: Tensor, groups: Groups) -> Tensor:
        """Weights of the same shape as the logits: non-negative, and one in sum for a target with neighbours."""
        return self._weights(alpha_tilde, groups)
