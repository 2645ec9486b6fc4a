"""Accounts and labels as scikit-learn's users hold them: lists, arrays, series, frames of one column."""

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
    """The place of each account's label in them."""


def find_accounts(store: Store, accounts: Any) -> NDArray[np.int64]:
    """The node of each account, in the order given. Whole numbers count by their decimal form."""
    array = np.asarray(accounts)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or not len(array):
        raise DataError(
            f"accounts: must be one column of ids, not empty (got shape {array.shape}). Pass a list of ids."
        )
    ids = [_id(value) for value in array.tolist()]
    nodes = store.accounts.find_many(ids)
    strangers = list(dict.fromkeys(name for name, node in zip(ids, nodes, strict=True) if node < 0))
    if strangers:
        shown = ", ".join(map(repr, strangers[:_SHOWN])) + (", ..." if len(strangers) > _SHOWN else "")
        raise DataError(
            f"accounts: every account must be in {store.path.name} (got {len(strangers):,} that are not: {shown}). "
            "Ids are compared exactly as written: check leading zeros, spaces and case."
        )
    return nodes


def read_targets(y: Any, count: int) -> Targets:
    """The labels of so many accounts, of whatever kind they are."""
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.shape != (count,):
        raise DataError(f"y: must hold one label for each of {count:,} accounts (got shape {array.shape}).")
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


def _id(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise DataError(f"accounts: ids must be text or whole numbers (got {value!r}). Read the column as text.")
