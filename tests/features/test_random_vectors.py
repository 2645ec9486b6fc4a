from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from gtea.features.node_features import random_vectors
from gtea.store.account_keys import keys_of_accounts


def vectors(accounts: list[str], size: int) -> NDArray[np.float32]:
    return random_vectors(keys_of_accounts(accounts), size)


def test_a_vector_is_the_accounts_own() -> None:
    together = vectors(["a", "b", "c"], 5)
    assert together.dtype == np.float32
    assert together.shape == (3, 5)
    assert vectors(["b"], 5).tobytes() == together[1].tobytes()
    assert not np.array_equal(together[0], together[1])


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_longer_vector_begins_like_a_shorter_one(size: int) -> None:
    assert vectors(["a"], 7)[0, :size].tobytes() == vectors(["a"], size)[0].tobytes()


def test_numbers_are_normal_and_independent() -> None:
    rows = vectors([str(i) for i in range(20_000)], 8).astype(np.float64)
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=0.03)
    np.testing.assert_allclose(np.cov(rows.T), np.eye(8), atol=0.04)
    np.testing.assert_allclose((np.abs(rows) < 1).mean(axis=0), 0.6827, atol=0.015)
    np.testing.assert_allclose((rows**4).mean(axis=0), 3, atol=0.3)


def test_vectors_are_pinned() -> None:
    np.testing.assert_allclose(vectors(["alice"], 3)[0], [-1.2138634, 0.1739336, -0.2795003], rtol=1e-6)
