"""Labels of accounts: read from a table of their own, because they must never be part of the store.

A label is a word. It may carry the moment at which it became known (``known_at``): whoever trains as of an earlier
moment must not see it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gtea.errors import DataError, UsageError
from gtea.store.store import Store
from gtea.store.time_units import parse_instant
from gtea.store.view import View
from gtea.tasks.accounts import FoundRows, Unknown, find_rows, refuse_missing_header
from gtea.tasks.tables import SHOWN, Table, TextTable, read_table

_KNOWN_AT = "known_at"
# Numbers with such an exponent are no times, and exact arithmetic on them would take all memory.
_HUGE = re.compile(r"e[+-]?\d{3,}\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class Labels:
    """The labelled accounts of a store, each once, by node number: the order of the table's rows doesn't matter."""

    nodes: NDArray[np.int64]
    targets: NDArray[np.int64]
    """The place of each account's class in ``classes``."""
    classes: tuple[str, ...]
    known_at: NDArray[np.int64] | None
    """The stored time from which each label is known, or None if the table doesn't say."""
    report: dict[str, Any]
    """Rows read, folded and skipped, and the size of each class."""
    known_later: int = 0
    """Labels that ``existing_before`` has dropped because they became known too late."""
    no_event_yet: int = 0
    """Labels that ``existing_before`` has dropped because their account had no event yet."""
    weights: NDArray[np.float64] | None = None
    """How much each account counts in the loss; None where all count alike."""

    def __len__(self) -> int:
        return len(self.nodes)

    def existing_before(self, view: View) -> Labels:
        """The labels that existed just before the view's cut.

        A label exists once it is known (``known_at``) and its account has had an event. A class without such a label
        does not exist yet: it must not become an output of the model, nor change which class is the rarer one.
        """
        active = view.has_events(self.nodes)
        known = np.ones(len(self), dtype=bool) if self.known_at is None else self.known_at < view.cut
        kept = np.flatnonzero(active & known)
        kinds, targets = np.unique(self.targets[kept], return_inverse=True)
        return Labels(
            self.nodes[kept],
            targets,
            tuple(self.classes[int(kind)] for kind in kinds),
            None if self.known_at is None else self.known_at[kept],
            self.report,
            self.known_later + int((active & ~known).sum()),
            self.no_event_yet + int((~active).sum()),
            None if self.weights is None else self.weights[kept],
        )


def read_labels(
    source: Table,
    store: Store,
    *,
    account: str | None = None,
    label: str | None = None,
    known_at: str | None = None,
    unknown: Unknown = "error",
) -> Labels:
    """Read the labels of accounts.

    Rows that repeat an account and agree are folded (the earliest ``known_at`` counts); rows that disagree are refused.

    Args:
        source: A CSV, TSV or Parquet file, or a frame.
        account: The column of account ids; by default ``account``, or else the first.
        label: The column of classes; by default ``label``, or the only one that is left.
        known_at: The column of the moments at which labels became known: numbers in the unit that the store's input
            had, or ISO 8601 dates, UTC unless they name a zone. By default ``known_at``, if there is one.
        unknown: ``skip`` leaves out accounts that the store doesn't know, and counts them.
    """
    table = read_table(source, [name for name in (account, label or "label", known_at) if name], "labels")
    ids = account or ("account" if "account" in table.columns else table.columns[0])
    moments = known_at or (_KNOWN_AT if _KNOWN_AT in table.columns and ids != _KNOWN_AT else None)
    words = label or _label_column(table, ids, moments)
    if len({ids, words, moments}) < 3:
        raise UsageError(f"{table.name}: account, label and known_at must be different columns (got {ids}, {words}).")
    if account is None:
        refuse_missing_header(store, table, (ids,))
    texts = table.texts(words)
    found = find_rows(store, table, (ids,), unknown)
    known = None if moments is None else _moments(table, moments, store)[found.rows]
    classes, targets = encode(texts, found)
    labels = _folded(found.nodes[0], targets, classes, known, table.name, store)
    _require_two(labels, table.name)
    report = {
        "source": table.name,
        "rows": len(table),
        "accounts": len(labels),
        "repeated_rows": len(found.rows) - len(labels),
        "unknown": found.unknown,
        "classes": class_counts(labels.targets, classes),
    }
    return Labels(labels.nodes, labels.targets, classes, labels.known_at, report)


def labels_of(
    nodes: NDArray[np.int64],
    targets: NDArray[np.int64],
    classes: tuple[str, ...],
    store: Store,
    name: str,
    weights: NDArray[np.float64],
) -> Labels:
    """Labels that are given as arrays. Repeated accounts are folded as in ``read_labels``, and their weights add up.

    Args:
        name: What they are called in messages and in the report.
    """
    labels = _folded(nodes, targets, classes, None, name, store)
    _require_two(labels, name)
    report = {
        "source": name,
        "rows": len(nodes),
        "accounts": len(labels),
        "repeated_rows": len(nodes) - len(labels),
        "classes": class_counts(labels.targets, classes),
    }
    added = add_weights(weights, np.searchsorted(labels.nodes, nodes))
    return Labels(labels.nodes, labels.targets, classes, None, report, weights=added)


def add_weights(weights: NDArray[np.float64], example: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """How much each example counts, given the weights of rows and the number of each row's example.

    None if all count alike: then nothing is weighed, and training is to the last bit what it is without weights.
    """
    sums: NDArray[np.float64] = np.bincount(example, weights).astype(np.float64)
    return None if (sums == sums[0]).all() else sums


def positive_class(labels: Labels, given: str | None = None) -> str | None:
    """The class that is looked for: the one given, else the rarer of two, of equals the last by name.

    A task with more than two classes has none.
    """
    if given is not None and (given not in labels.classes or len(labels.classes) != 2):
        raise UsageError(
            "positive class: must be one of two classes "
            f"(got {given!r}; the labels are {', '.join(map(repr, labels.classes))}). Name one of two, or none."
        )
    if given is not None or len(labels.classes) != 2:
        return given
    first, last = np.bincount(labels.targets, minlength=2)
    return labels.classes[0] if first < last else labels.classes[1]


def class_counts(targets: NDArray[np.int64], classes: tuple[str, ...]) -> dict[str, int]:
    """How many examples each class has."""
    counts = np.bincount(targets, minlength=len(classes))
    return {name: int(count) for name, count in zip(classes, counts, strict=True)}


def encode(texts: pa.ChunkedArray, found: FoundRows) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The classes of the rows that count, sorted, and each row's place among them."""
    kept = texts.take(pa.array(found.rows))
    classes = sorted(pc.unique(kept).to_pylist())
    codes = pc.index_in(kept, value_set=pa.array(classes, pa.large_string()))
    return tuple(classes), np.asarray(codes).astype(np.int64)


def _label_column(table: TextTable, account: str, known_at: str | None) -> str:
    others = [name for name in table.columns if name not in (account, known_at)]
    if "label" in others:
        return "label"
    if len(others) != 1:
        raise UsageError(
            f"{table.name}: must have a column 'label' or only one besides {account!r} "
            f"(got {', '.join(others) or 'none'}). Name the column of the labels."
        )
    return others[0]


def _moments(table: TextTable, column: str, store: Store) -> NDArray[np.int64]:
    """The stored time of each row's moment; each distinct text is read once."""
    encoded = table.texts(column).combine_chunks().dictionary_encode()
    values: list[int | None] = [_moment(text, store) for text in encoded.dictionary.to_pylist()]
    codes: NDArray[np.int64] = np.asarray(encoded.indices).astype(np.int64)
    bad = np.array([value is None for value in values], dtype=bool)[codes] if values else np.zeros(0, bool)
    if bad.any():
        record = np.flatnonzero(bad)[:1]
        text = encoded.dictionary[int(codes[record[0]])].as_py()
        rule = f"must be a number or an ISO 8601 date (got {text[:80]!r})"
        table.refuse(record, column, rule, "Write it as 2024-01-31 or 2024-01-31T12:00:00Z")
    times: NDArray[np.int64] = np.array(values, dtype=np.int64)[codes]
    return times


def _moment(text: str, store: Store) -> int | None:
    if _HUGE.search(text):
        return None
    try:
        moment = parse_instant(text, store.unit, store.manifest.schema["time_unit"])
    except UsageError:
        return None
    return moment if abs(moment) < 2**63 else None


def _folded(
    nodes: NDArray[np.int64],
    targets: NDArray[np.int64],
    classes: tuple[str, ...],
    known_at: NDArray[np.int64] | None,
    name: str,
    store: Store,
) -> Labels:
    """One label an account."""
    order = np.lexsort((np.zeros_like(nodes) if known_at is None else known_at, nodes))
    ordered, words = nodes[order], targets[order]
    distinct, first, group = np.unique(ordered, return_index=True, return_inverse=True)
    clashing = np.unique(ordered[words != words[first][group]])
    if len(clashing):
        shown = ", ".join(repr(store.account(int(node))) for node in clashing[:SHOWN])
        more = ", ..." if len(clashing) > SHOWN else ""
        raise DataError(
            f"{name}: an account may have one label (got {len(clashing):,} with rows that disagree: {shown}{more}). "
            "Keep the right row of each."
        )
    known = None if known_at is None else known_at[order][first]
    return Labels(distinct, words[first], classes, known, {})


def _require_two(labels: Labels, name: str) -> None:
    if not len(labels):
        raise DataError(f"{name}: must hold at least one label of an account in the store (got none). Add labels.")
    if len(labels.classes) < 2:
        raise DataError(
            f"{name}: labels must be of at least two classes (got only {labels.classes[0]!r}, {len(labels):,} times). "
            "Add examples of another class; accounts that are merely not labelled don't count as one."
        )
