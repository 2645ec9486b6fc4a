"""Pairs of accounts from a table or from arrays, with or without labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import DataError
from gtea.store.store import Store
from gtea.tasks.accounts import Unknown, find_rows, require_header
from gtea.tasks.labels import class_counts, encode_classes, sum_weights
from gtea.tasks.tables import SHOWN, Table, read_table


@dataclass(frozen=True)
class Pairs:
    """Ordered pairs of accounts, without duplicates."""

    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    targets: NDArray[np.int64] | None
    """The index of each pair's class in ``classes``, or None if the table has no labels."""
    classes: tuple[str, ...]
    report: dict[str, Any]
    """Counts of rows read, duplicate rows and unknown accounts."""
    weights: NDArray[np.float64] | None = None
    """The weight of each pair in the loss; None if all weights are equal."""

    def __len__(self) -> int:
        return len(self.src)


def read_pairs(
    source: Table,
    store: Store,
    *,
    src: str = "src",
    dst: str = "dst",
    label: str | None = None,
    unknown: Unknown = "error",
) -> Pairs:
    """Read pairs of accounts, in the order of their first rows.

    Duplicate rows of an ordered pair are merged if their labels agree and rejected if not.

    Args:
        source: A CSV, TSV or Parquet file, or a frame.
        store: The store that holds the accounts.
        src: The column of source account ids.
        dst: The column of destination account ids.
        label: The column of classes. Defaults to ``label``, if there is such a column.
        unknown: ``"error"`` rejects pairs with an account that is not in the store; ``"skip"`` drops and counts them.
    """
    table = read_table(source, [src, dst, label or "label"], "pairs")
    require_header(store, table, table.columns[:2])
    label_column = label or ("label" if "label" in table.columns else None)
    texts = None if label_column is None else table.texts(label_column)
    found = find_rows(store, table, (src, dst), unknown)
    classes, targets = ((), None) if texts is None else encode_classes(texts, found)
    first, _ = _first_rows(found.nodes[0], found.nodes[1], targets, table.name, store)
    kept = np.sort(first)
    report = {
        "source": table.name,
        "rows": len(table),
        "pairs": len(kept),
        "repeated_rows": len(found.rows) - len(kept),
        "unknown": found.unknown,
    }
    ends = found.nodes[0][kept], found.nodes[1][kept]
    return Pairs(*ends, None if targets is None else targets[kept], classes, report)


def pairs_from_arrays(
    src: NDArray[np.int64],
    dst: NDArray[np.int64],
    targets: NDArray[np.int64],
    classes: tuple[str, ...],
    store: Store,
    name: str,
    weights: NDArray[np.float64],
) -> Pairs:
    """Build labelled pairs from arrays, sorted by node numbers. The row order has no effect.

    Duplicate rows are merged as in ``read_pairs``, and their weights are added.

    Args:
        src: The source node of each row.
        dst: The destination node of each row.
        targets: The class of each row, as an index into ``classes``.
        classes: The names of the classes.
        store: The store that holds the accounts.
        name: The name of the pairs in error messages and in the report.
        weights: The weight of each row.
    """
    first, group = _first_rows(src, dst, targets, name, store)
    report = {
        "source": name,
        "rows": len(src),
        "pairs": len(first),
        "repeated_rows": len(src) - len(first),
        "classes": class_counts(targets[first], classes),
    }
    return Pairs(src[first], dst[first], targets[first], classes, report, sum_weights(weights, group))


def _first_rows(
    src: NDArray[np.int64], dst: NDArray[np.int64], targets: NDArray[np.int64] | None, name: str, store: Store
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first row of each distinct pair, sorted by node numbers, and the index of each row's pair."""
    if not len(src):
        raise DataError(f"{name}: must name at least one pair of accounts in {store.path.name} (got none). Add pairs.")
    _, first, group = np.unique(src * store.num_nodes + dst, return_index=True, return_inverse=True)
    if targets is not None:
        clashing = np.unique(first[group[targets != targets[first][group]]])
        if len(clashing):
            ends = ((store.account(int(src[row])), store.account(int(dst[row]))) for row in clashing[:SHOWN])
            shown = ", ".join(f"{a!r} to {b!r}" for a, b in ends)
            more = ", ..." if len(clashing) > SHOWN else ""
            raise DataError(
                f"{name}: a pair may have one label (got {len(clashing):,} with rows that disagree: {shown}{more}). "
                "Keep the right row of each."
            )
    return first, group
