"""Convert lists, arrays, series and frames to accounts, pairs, labels and weights."""

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
    """The labels in ``y``."""

    values: NDArray[Any]
    """The distinct labels, sorted, in their original type."""
    names: tuple[str, ...]
    """The distinct labels as strings, as they are saved in a model folder."""
    targets: NDArray[np.int64]
    """The label of each example, as an index into ``values``."""


def find_accounts(store: Store, accounts: Any) -> NDArray[np.int64]:
    """Return the node of each account, in input order. Integers are converted to decimal strings."""
    array = _objects(accounts)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or not len(array):
        raise DataError(
            f"accounts: must be one column of ids, not empty (got shape {array.shape}). Pass a list of ids."
        )
    return _nodes(store, array, "accounts")


def find_pairs(store: Store, pairs: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the source and destination node of each pair, in input order."""
    array = _objects(pairs)
    if array.ndim != 2 or array.shape[1] != 2 or not len(array):
        raise DataError(
            f"pairs: must be two columns of ids, from and to, not empty (got shape {array.shape}). "
            "Pass a list of pairs, or an array or frame with two columns."
        )
    nodes = _nodes(store, array.ravel(), "pairs").reshape(-1, 2)
    return nodes[:, 0], nodes[:, 1]


def read_targets(y: Any, count: int, what: str) -> Targets:
    """Validate and encode the labels of ``count`` examples.

    Args:
        y: The labels: strings, integers or booleans.
        count: The number of examples.
        what: The word for examples in error messages.
    """
    array = _column(y)
    if array.shape != (count,):
        raise DataError(
            f"y: must hold one label for each of {count:,} {what} (got shape {array.shape}). Pass them together."
        )
    if array.dtype.kind == "f" and not (np.isfinite(array) & (array == np.round(array))).all():
        raise DataError(
            "y: labels must be classes, not continuous values (got fractions, NaN or infinity). "
            "Bin them, or drop the rows."
        )
    try:
        values, targets = np.unique(array, return_inverse=True)
    except TypeError as error:
        raise DataError(
            f"y: labels must have one type, without missing values (got {error}). Convert them to strings."
        ) from error
    names = tuple(str(value) for value in values.tolist())
    if len(set(names)) < len(names):
        raise DataError(f"y: distinct labels must also differ as strings (got {', '.join(names)}). Rename them.")
    return Targets(values, names, targets.astype(np.int64))


def read_weights(sample_weight: Any, count: int) -> NDArray[np.float64]:
    """Validate the weights of ``count`` rows. The default weight is 1."""
    if sample_weight is None:
        return np.ones(count)
    try:
        weights = np.asarray(_column(sample_weight), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"sample_weight: must be numbers (got {error}). Convert them.") from error
    if weights.shape != (count,):
        raise DataError(
            f"sample_weight: must hold one weight for each of {count:,} rows (got shape {weights.shape}). "
            "Pass one per row."
        )
    if not (np.isfinite(weights) & (weights >= 0)).all():
        bad = weights[~(np.isfinite(weights) & (weights >= 0))][0]
        raise DataError(f"sample_weight: must be 0 or more, and finite (got {bad}). Drop such rows.")
    if not weights.any():
        raise DataError(
            "sample_weight: must not be 0 for all rows (got only 0). Leave it out to weight all rows equally."
        )
    return weights


def _nodes(store: Store, values: NDArray[Any], what: str) -> NDArray[np.int64]:
    ids = [_id(value, what) for value in values.tolist()]
    nodes = store.accounts.find_many(ids)
    unknown_ids = list(dict.fromkeys(name for name, node in zip(ids, nodes, strict=True) if node < 0))
    if unknown_ids:
        shown = ", ".join(map(repr, unknown_ids[:_SHOWN])) + (", ..." if len(unknown_ids) > _SHOWN else "")
        raise DataError(
            f"{what}: every account must be in {store.path.name} (got {len(unknown_ids):,} that are not: {shown}). "
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
    """Keep every value as is. A common dtype would turn missing values into strings and integers into floats."""
    return np.asarray(values, dtype=object)


def _column(values: Any) -> NDArray[Any]:
    array = np.asarray(values)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
