"""A subject with its score, and the order in which its counterparties raise it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gtea.explain.effect import Effects, Nodes

NUM_JOINT = 3
"""How many counterparties are chosen by what happens without them together."""


@dataclass(frozen=True)
class Scored:
    """A subject with its score and what it would be without each counterparty."""

    effects: Effects
    column: int
    """The class whose probability is the score."""
    score: float
    without: NDArray[np.float64]
    candidates: int
    """How many counterparties are tried where some are chosen one by one."""
    _known: dict[bytes, float] = field(default_factory=dict)

    def scores(self, sets: Sequence[Nodes]) -> NDArray[np.float64]:
        """The scores without some sets of counterparties. Each set is computed once: few have few subsets."""
        keys = [np.sort(some).tobytes() for some in sets]
        new = {key: some for key, some in zip(keys, sets, strict=True) if key not in self._known}
        if new:
            found = self.effects.without(list(new.values()))[:, self.column]
            self._known.update(zip(new, found.tolist(), strict=True))
        return np.array([self._known[key] for key in keys])

    @cached_property
    def raising(self) -> Nodes:
        """The counterparties in the order of how much they raise the score.

        The first three are chosen one by one, each given that those before it are gone: where two do the same, the
        score hardly falls without one of them, and much without both. The others follow by their own effects.
        """
        order = np.argsort(self.without, kind="stable")
        chosen, left = order[:0], order[: self.candidates]
        while len(chosen) < NUM_JOINT and len(left):
            best = int(self.scores([np.append(chosen, i) for i in left]).argmin())
            chosen, left = np.append(chosen, left[best]), np.delete(left, best)
        return np.append(chosen, order[~np.isin(order, chosen)])
