"""Pairs of accounts that a table or an array names: links to score, perhaps with the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import DataError
from gtea.store.store import Store
from gtea.tasks.accounts import Unknown, find_rows, refuse_missing_header
from gtea.tasks.labels import add_weights, class_counts, encode
from gtea.tasks.tables import SHOWN, Table, read_table


@dataclass(frozen=True)
class Pairs:
    """Ordered pairs, each once."""

    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    targets: NDArray[np.int64] | None
    """The place of each pair's class in ``classes``, or None if the table has no labels."""
    classes: tuple[str, ...]
    report: dict[str, Any]
    weights: NDArray[np.float64] | None = None
    """How much each pair counts in the loss; None where all count alike."""

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
    """Read pairs of accounts, in the order in which the table first names them.

    Rows that repeat a pair in the same order are folded if they agree and refused if they don't.

    Args:
        source: A CSV, TSV or Parquet file, or a frame.
        label: The column of classes; by default ``label``, if there is one.
        unknown: ``skip`` leaves out pairs with an account that the store doesn't know, and counts them.
    """
    table = read_table(source, [src, dst, label or "label"], "pairs")
    refuse_missing_header(store, table, table.columns[:2])
    words = label or ("label" if "label" in table.columns else None)
    texts = None if words is None else table.texts(words)
    found = find_rows(store, table, (src, dst), unknown)
    classes, targets = ((), None) if texts is None else encode(texts, found)
    first, _ = _folded(found.nodes[0], found.nodes[1], targets, table.name, store)
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


def pairs_of(
    src: NDArray[np.int64],
    dst: NDArray[np.int64],
    targets: NDArray[np.int64],
    classes: tuple[str, ...],
    store: Store,
    name: str,
    weights: NDArray[np.float64],
) -> Pairs:
    """Labelled pairs that are given as arrays, in the store's order of accounts, whatever order the rows have.

    Rows that repeat a pair are folded as in ``read_pairs``, and their weights add up.

    Args:
        name: What they are called in messages and in the report.
    """
    first, group = _folded(src, dst, targets, name, store)
    report = {
        "source": name,
        "rows": len(src),
        "pairs": len(first),
        "repeated_rows": len(src) - len(first),
        "classes": class_counts(targets[first], classes),
    }
    return Pairs(src[first], dst[first], targets[first], classes, report, add_weights(weights, group))


def _folded(
    src: NDArray[np.int64], dst: NDArray[np.int64], targets: NDArray[np.int64] | None, name: str, store: Store
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first row of each distinct pair, in the order of the accounts; and each row's number among those pairs."""
    if not len(src):
        raise DataError(f"{name}: must name at least one pair of accounts in {store.path.name} (got none).")
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
