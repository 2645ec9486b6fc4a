from __future__ import annotations

import numpy as np
import pytest

from gtea.runtime.rng import Purpose, below, fold, permutation, stream, words

ALL = (1 << 64) - 1


def mix_by_hand(word: int) -> int:
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & ALL
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & ALL
    return word ^ (word >> 31)


def fold_by_hand(state: int, word: int) -> int:
    return mix_by_hand(state ^ mix_by_hand((word + 0x9E3779B97F4A7C15) & ALL))


@pytest.mark.parametrize(("state", "word"), [(0, 0), (1, 0), (0, 1), (ALL, ALL), (12345, 1 << 63)])
def test_fold_is_what_whole_numbers_give(state: int, word: int) -> None:
    assert fold(np.uint64(state), np.uint64(word)) == fold_by_hand(state, word)


def test_words_are_pinned() -> None:
    """Changing these changes every run ever recorded."""
    keys = np.arange(3, dtype=np.uint64)
    assert words(stream(7, Purpose.NEIGHBOURS, 2), keys).tolist() == [
        1557957488070302824,
        7981170760103593279,
        16893834708956266190,
    ]
    assert permutation(7, 2, 8).tolist() == [4, 6, 7, 0, 5, 2, 1, 3]


def test_streams_differ_in_every_argument() -> None:
    streams = {int(stream(seed, purpose, epoch)) for seed in range(5) for purpose in Purpose for epoch in range(5)}
    assert len(streams) == 5 * len(Purpose) * 5


def test_negative_and_large_seeds_are_seeds() -> None:
    assert stream(-1, Purpose.ORDER) == stream(ALL, Purpose.ORDER)


@pytest.mark.parametrize("bound", [1, 2, 3, 10**6 + 3, 1 << 31, 1 << 32])
def test_below_is_the_upper_half_of_the_product(bound: int) -> None:
    for word in (0, 1, ALL, ALL // 2, 0x123456789ABCDEF0):
        assert below(np.uint64(word), bound) == word * bound >> 64


def test_below_is_uniform() -> None:
    drawn = words(stream(3, Purpose.ORDER), np.arange(70_000, dtype=np.uint64))
    counts = np.bincount([below(word, 7) for word in drawn], minlength=7)
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 22.5  # chi-square, 6 degrees of freedom, p = 0.001


@pytest.mark.parametrize("num_items", [0, 1, 2, 1000])
def test_a_permutation_holds_everything_once(num_items: int) -> None:
    assert sorted(permutation(1, 0, num_items)) == list(range(num_items))


def test_permutations_are_uniform() -> None:
    ways: dict[tuple[int, ...], int] = {}
    for epoch in range(60_000):
        order = tuple(permutation(5, epoch, 3).tolist())
        ways[order] = ways.get(order, 0) + 1
    assert len(ways) == 6
    assert sum((count - 10_000) ** 2 / 10_000 for count in ways.values()) < 20.5  # 5 degrees, p = 0.001


def test_epochs_and_seeds_shuffle_anew() -> None:
    orders = {tuple(permutation(seed, epoch, 20).tolist()) for seed in range(3) for epoch in range(3)}
    assert len(orders) == 9
