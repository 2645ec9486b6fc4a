"""Counter-based random numbers: every random word is a pure function of (seed, purpose, epoch, node, draw).

There is no generator state. What node n draws in epoch e doesn't depend on earlier draws, on the batch or on the
worker, and a run that resumes after a kill restores only its counters. Words are combined with the finaliser of
splitmix64, a bijection on 64 bits in which every input bit affects every output bit. It is not cryptographic: an
attacker who chooses account ids freely can make two of them collide.

Compiled code calls ``fold`` and ``below`` directly; NumPy code calls ``stream``, ``words`` and ``permutation``.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from gtea.runtime.jit import jit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ALL = (1 << 64) - 1


class Purpose(IntEnum):
    """What random numbers are used for. Purposes never share a word, so adding one doesn't change the others."""

    ORDER = 1
    NEIGHBOURS = 2
    NEGATIVES = 3
    VECTORS = 4
    DROPOUT = 5
    SPLIT = 6
    TRIALS = 7


@jit
def _mix(word: np.uint64) -> np.uint64:
    """The finaliser of splitmix64 (Steele, Lea and Flood 2014, Stafford's variant 13)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@jit
def fold(state: np.uint64, word: np.uint64) -> np.uint64:
    """Combine a state and a word into a word that depends on every bit of both."""
    # The sum keeps zeros from staying zeros. Mixing twice keeps state and word from cancelling each other out.
    return _mix(state ^ _mix(word + _GOLDEN))


@jit
def below(word: np.uint64, bound: int) -> np.int64:
    """Map a random word to a number in [0, bound), for 1 <= bound <= 2^32: the upper half of word * bound.

    The bias is below bound / 2^64. No division and no floats: the result is the same on every machine.
    """
    size = np.uint64(bound)
    upper = (word >> np.uint64(32)) * size
    lower = ((word & np.uint64(0xFFFFFFFF)) * size) >> np.uint64(32)
    return np.int64((upper + lower) >> np.uint64(32))


def stream(seed: int, purpose: Purpose, epoch: int = 0) -> np.uint64:
    """The state for all draws of one purpose in one epoch."""
    state = np.uint64(0)
    for word in (seed, int(purpose), epoch):
        state = np.uint64(fold(state, np.uint64(word & _ALL)))
    return state


def seed_of(seed: int, purpose: Purpose, epoch: int, position: int) -> int:
    """A seed for the generator of another library, a pure function of the position in the run."""
    return int(fold(stream(seed, purpose, epoch), np.uint64(position))) >> 1  # torch takes 63 bits


@jit
def words(state: np.uint64, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One random word for each key."""
    drawn = np.empty(len(keys), dtype=np.uint64)
    for i in range(len(keys)):
        drawn[i] = fold(state, keys[i])
    return drawn


def permutation(seed: int, epoch: int, num_items: int) -> NDArray[np.int64]:
    """The order in which an epoch visits its items: a pure function of seed, epoch and the number of items."""
    return _shuffled(stream(seed, Purpose.ORDER, epoch), num_items)


@jit
def _shuffled(state: np.uint64, num_items: int) -> NDArray[np.int64]:
    """A Fisher-Yates shuffle that draws from a counter instead of a generator."""
    order = np.arange(num_items)
    for last in range(num_items - 1, 0, -1):
        other = below(fold(state, np.uint64(last)), last + 1)
        order[last], order[other] = order[other], order[last]
    return order
