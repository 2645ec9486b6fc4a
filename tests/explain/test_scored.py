"""Two counterparties that do the same hide each other; chosen one by one, both are found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gtea.explain.effect import Effects
from gtea.explain.scored import Scored


class TwoDoTheSame(Effects):
    """The score is high as long as 1 or 4 is there; by themselves, 1 raises it a little, and 4 less than all others."""

    def __init__(self) -> None:
        self.partners, self.ends = np.arange(6), np.zeros(6, dtype=np.int64)
        self.asked = 0

    def _without(self, sets: list[NDArray[np.int64]]) -> NDArray[np.float64]:
        self.asked += len(sets)
        left = [set(range(6)) - set(some.tolist()) for some in sets]
        scores = np.array([0.8 * bool({1, 4} & some) + 0.03 * (1 in some) + 0.02 * len(some - {1, 4}) for some in left])
        return np.stack([1 - scores, scores], axis=1)

    def without_events(self, partner: int, sets: Sequence[NDArray[np.int64]]) -> NDArray[np.float64]:
        raise NotImplementedError


def test_who_hides_is_found_and_no_set_is_computed_twice() -> None:
    effects = TwoDoTheSame()
    without = effects.without([np.array([i]) for i in range(6)])[:, 1]
    assert int(without.argmax()) == 4
    scored = Scored(effects, 1, float(effects.without([np.empty(0, dtype=np.int64)])[0, 1]), without, 6)
    assert scored.raising[:2].tolist() == [1, 4]
    asked = effects.asked
    np.testing.assert_array_equal(scored.scores([scored.raising[:2]]), scored.scores([scored.raising[1::-1]]))
    assert effects.asked == asked
