"""A random vector for each account, a pure function of its id.

With such vectors a network can tell accounts apart, and an account that no store has seen yet has its own. They don't
depend on the run's seed: a model may be moved between stores and machines without them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gtea.runtime.jit import jit
from gtea.runtime.rng import Purpose, fold, stream

_UNIT = 2.0**-53


def random_vectors(keys: NDArray[np.uint64], size: int) -> NDArray[np.float32]:
    """One row of independent standard normal numbers for each key of ``gtea.store.account_keys``."""
    return _normal(stream(0, Purpose.VECTORS), keys, size)


@jit
def _normal(state: np.uint64, keys: NDArray[np.uint64], size: int) -> NDArray[np.float32]:
    """Box and Muller: two uniform words make two normal numbers."""
    rows = np.empty((len(keys), size), dtype=np.float32)
    for i in range(len(keys)):
        own = fold(state, keys[i])
        for k in range(0, size, 2):
            first, second = fold(own, np.uint64(k)), fold(own, np.uint64(k + 1))
            # (0, 1]: its logarithm is finite.
            radius = math.sqrt(-2 * math.log((np.float64(first >> np.uint64(11)) + 1) * _UNIT))
            angle = 2 * math.pi * (np.float64(second >> np.uint64(11)) * _UNIT)
            rows[i, k] = radius * math.cos(angle)
            if k + 1 < size:
                rows[i, k + 1] = radius * math.sin(angle)
    return rows
