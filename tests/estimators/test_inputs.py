"""Examples, labels and weights as scikit-learn's users give them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from gtea.errors import DataError
from gtea.estimators.inputs import find_accounts, find_pairs, read_targets, read_weights
from gtea.store.memory import store_in_memory

STORE = store_in_memory(["1", "2", "x"], ["2", "x", "1"], [1, 2, 3])
ONE, TWO, X = (STORE.node(name) for name in ("1", "2", "x"))


@pytest.mark.parametrize(
    "given", [["x", 2], np.array([["x"], ["2"]]), pd.Series(["x", "2"]), pd.DataFrame({"id": ["x", 2]})]
)
def test_accounts_of_every_kind(given: Any) -> None:
    assert find_accounts(STORE, given).tolist() == [X, TWO]


def test_pairs_of_every_kind() -> None:
    for given in ([("x", 1), ("2", "x")], np.array([["x", "1"], ["2", "x"]])):
        src, dst = find_pairs(STORE, given)
        assert (src.tolist(), dst.tolist()) == ([X, TWO], [ONE, X])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "accounts: must be one column of ids, not empty"),
        (["x", "y", "z", "y"], r"accounts: every account must be in .* \(got 2 that are not: 'y', 'z'\)"),
        ([None], r"accounts: ids must be text or whole numbers \(got None\)"),
        ([True], r"ids must be text or whole numbers \(got True\)"),
    ],
)
def test_accounts_that_are_refused(given: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        find_accounts(STORE, given)


def test_labels_are_sorted_and_numbered() -> None:
    found = read_targets(pd.Series(["b", "a", "b"]), 3, "accounts")
    assert (found.values.tolist(), found.names, found.targets.tolist()) == (["a", "b"], ("a", "b"), [1, 0, 1])
    assert read_targets([2.0, 1.0], 2, "accounts").names == ("1.0", "2.0")
    with pytest.raises(DataError, match="y: must hold one label for each of 2 pairs"):
        read_targets([1], 2, "pairs")
    with pytest.raises(DataError, match="y: distinct labels must also differ as strings"):
        read_targets(np.array([1, "1"], dtype=object).tolist() and _Clash.both(), 2, "accounts")


class _Clash(int):
    """A label that is another one in the same words."""

    @staticmethod
    def both() -> Any:
        return np.array([_Clash(1), _Clash(2)], dtype=object)

    def __repr__(self) -> str:
        return "1"

    __str__ = __repr__


def test_weights() -> None:
    assert read_weights(None, 2).tolist() == [1, 1]
    assert read_weights([[0.5], [2]], 2).tolist() == [0.5, 2]
    with pytest.raises(DataError, match="sample_weight: must hold one weight for each of 3 rows"):
        read_weights([1, 2], 3)
