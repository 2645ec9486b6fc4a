"""Synthetic in-memory graphs for benchmarks, with heavy-tailed degrees and history lengths."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gtea.store.memory import store_of_numbers
from gtea.store.store import Store
from gtea.store.strings import StringTable

YEAR = 365 * 86_400


def history_lengths(count: int, longest: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Heavy-tailed lengths of at most ``longest``; the mean is about 4 for 256."""
    share = generator.random(count)
    return np.minimum(0.9 * (share ** (-1 / 1.2) - 1) + 1, longest).astype(np.int64)


def heavy_tailed_store(num_nodes: int, degree: float, num_features: int, *, longest: int = 256) -> Store:
    """A store with about ``degree`` neighbours per node on average; a few nodes have very many."""
    generator = np.random.default_rng(0)
    num_pairs = int(num_nodes * degree / 2)
    popular = (num_nodes * generator.random(num_pairs) ** 2).astype(np.int64)
    others = generator.integers(0, num_nodes, num_pairs)
    lengths = history_lengths(num_pairs, longest, generator)
    src, dst = np.repeat(popular, lengths), np.repeat(others, lengths)
    reverse = generator.random(len(src)) < 0.3
    src, dst = np.where(reverse, dst, src), np.where(reverse, src, dst)
    features = {f"f{i}": generator.lognormal(1, 1, len(src)).astype(np.float32) for i in range(num_features)}
    return store_of_numbers(addresses(num_nodes), src, dst, generator.integers(0, YEAR, len(src)), features=features)


def addresses(count: int) -> StringTable:
    """Ethereum-like account names: 0x and forty hexadecimal digits, in order."""
    digits = np.full((count, 42), ord("0"), dtype=np.uint8)
    digits[:, 1] = ord("x")
    for digit in range(8):
        nibble = (np.arange(count) >> (4 * digit)) & 15
        digits[:, 41 - digit] = np.frombuffer(b"0123456789abcdef", np.uint8)[nibble]
    return StringTable(np.arange(count + 1) * 42, digits.reshape(-1))
