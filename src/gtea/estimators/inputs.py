"""Accounts, pairs, labels and weights as scikit-learn's users hold them: lists, arrays, series, frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import DataError
from gtea.store.store import Store

_SHOWN = 10


@dataclass(frozen=True)
class Targets:
    """What ``y`` says."""

    values: NDArray[Any]
    """The distinct labels as they were given, sorted."""
    names: tuple[str, ...]
    """The same as words, which is what a model folder holds."""
    targets: NDArray[np.int64]
    """The place of each example's label in them."""


def find_accounts(store: Store, accounts: Any) -> NDArray[np.int64]:
    """The node of each account, in the order given. Whole numbers count by their decimal form."""
    array = _objects(accounts)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or not len(array):
        raise DataError(
            f"accounts: must be one column of ids, not empty (got shape {array.shape}). Pass a list of ids."
        )
    return _nodes(store, array, "accounts")


def find_pairs(store: Store, pairs: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The nodes of both ends of each pair, in the order given."""
    array = _objects(pairs)
    if array.ndim != 2 or array.shape[1] != 2 or not len(array):
        raise DataError(
            f"pairs: must be two columns of ids, from and to, not empty (got shape {array.shape}). "
            "Pass a list of pairs, an array or a frame of two columns."
        )
    nodes = _nodes(store, array.ravel(), "pairs").reshape(-1, 2)
    return nodes[:, 0], nodes[:, 1]


def read_targets(y: Any, count: int, what: str) -> Targets:
    """The labels of so many examples, of whatever kind they are.

    Args:
        what: What examples are called in messages.
    """
    array = _column(y)
    if array.shape != (count,):
        raise DataError(f"y: must hold one label for each of {count:,} {what} (got shape {array.shape}).")
    if array.dtype.kind == "f" and not (np.isfinite(array) & (array == np.round(array))).all():
        raise DataError(
            "y: labels must be classes, not measurements (got fractions, NaN or infinity). Bin them, or drop the rows."
        )
    try:
        values, targets = np.unique(array, return_inverse=True)
    except TypeError as error:
        raise DataError(f"y: labels must be of one kind, without gaps ({error}). Convert them to text.") from error
    names = tuple(str(value) for value in values.tolist())
    if len(set(names)) < len(names):
        raise DataError(f"y: different labels must differ as text too (got {', '.join(names)}). Rename them.")
    return Targets(values, names, targets.astype(np.int64))


def read_weights(sample_weight: Any, count: int) -> NDArray[np.float64]:
    """How much each of so many rows counts: 1 unless something else is given."""
    if sample_weight is None:
        return np.ones(count)
    try:
        weights = np.asarray(_column(sample_weight), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"sample_weight: must be numbers ({error}). Convert them.") from error
    if weights.shape != (count,):
        raise DataError(f"sample_weight: must be one for each of {count:,} rows (got shape {weights.shape}).")
    if not (np.isfinite(weights) & (weights >= 0)).all():
        bad = weights[~(np.isfinite(weights) & (weights >= 0))][0]
        raise DataError(f"sample_weight: must be 0 or more, and finite (got {bad}). Leave such rows out.")
    if not weights.any():
        raise DataError("sample_weight: must not be 0 for all rows. Leave it out, and all count alike.")
    return weights


def _nodes(store: Store, values: NDArray[Any], what: str) -> NDArray[np.int64]:
    ids = [_id(value, what) for value in values.tolist()]
    nodes = store.accounts.find_many(ids)
    strangers = list(dict.fromkeys(name for name, node in zip(ids, nodes, strict=True) if node < 0))
    if strangers:
        shown = ", ".join(map(repr, strangers[:_SHOWN])) + (", ..." if len(strangers) > _SHOWN else "")
        raise DataError(
            f"{what}: every account must be in {store.path.name} (got {len(strangers):,} that are not: {shown}). "
            "Ids are compared exactly as written: check leading zeros, spaces and case."
        )
    return nodes


def _id(value: Any, what: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return str(value)
    raise DataError(f"{what}: ids must be text or whole numbers (got {value!r}). Read the column as text.")


def _objects(values: Any) -> NDArray[Any]:
    """Every value as it is: a common type would make text of missing values and floats of whole numbers."""
    return np.asarray(values, dtype=object)


def _column(values: Any) -> NDArray[Any]:
    array = np.asarray(values)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
