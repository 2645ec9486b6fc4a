"""Labels of accounts.

Labels come from their own table and are never part of the store. A label is a string. It may have the time at which it
became known (``known_at``). Training as of an earlier time does not use it.
"""

from __future__ import annotations

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
from gtea.tasks.accounts import FoundRows, Unknown, find_rows, require_header
from gtea.tasks.tables import SHOWN, Table, TextTable, read_table

_KNOWN_AT = "known_at"


@dataclass(frozen=True)
class Labels:
    """The labelled accounts of a store, without duplicates, sorted by node number. The row order has no effect."""

    nodes: NDArray[np.int64]
    targets: NDArray[np.int64]
    """The index of each account's class in ``classes``."""
    classes: tuple[str, ...]
    known_at: NDArray[np.int64] | None
    """The stored time at which each label became known, or None if the table has no such column."""
    report: dict[str, Any]
    """Counts of rows read, duplicate rows and unknown accounts, and the size of each class."""
    known_later: int = 0
    """How many labels ``existing_before`` dropped because they became known at or after the cut."""
    no_event_yet: int = 0
    """How many labels ``existing_before`` dropped because their account had no event before the cut."""
    weights: NDArray[np.float64] | None = None
    """The weight of each account in the loss; None if all weights are equal."""

    def __len__(self) -> int:
        return len(self.nodes)

    def existing_before(self, view: View) -> Labels:
        """Keep only the labels that existed before the view's cut.

        A label exists once it is known (``known_at``) and its account has an event. A class without such a label does
        not exist yet. It must not become an output of the model or change which class is the rarer one, because that
        would leak information from after the cut.
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

    Duplicate rows of an account are merged if their labels agree (the earliest ``known_at`` wins) and rejected if not.

    Args:
        source: A CSV, TSV or Parquet file, or a frame.
        store: The store that holds the accounts.
        account: The column of account ids. Defaults to ``account``, or to the first column.
        label: The column of classes. Defaults to ``label``, or to the only remaining column.
        known_at: The column of times at which labels became known: numbers in the time unit of the store's input, or
            ISO 8601 dates (UTC unless they have a time zone). Defaults to ``known_at``, if there is such a column.
        unknown: ``"error"`` rejects accounts that are not in the store; ``"skip"`` drops and counts them.
    """
    table = read_table(source, [name for name in (account, label or "label", known_at) if name], "labels")
    ids = account or ("account" if "account" in table.columns else table.columns[0])
    times = known_at or (_KNOWN_AT if _KNOWN_AT in table.columns and ids != _KNOWN_AT else None)
    classes_column = label or _label_column(table, ids, times)
    if len({ids, classes_column, times}) < 3:
        raise UsageError(
            f"{table.name}: account, label and known_at must be different columns (got {ids}, {classes_column}). "
            "Pass three column names."
        )
    if account is None:
        require_header(store, table, (ids,))
    texts = table.texts(classes_column)
    found = find_rows(store, table, (ids,), unknown)
    known = None if times is None else _parse_times(table, times, store)[found.rows]
    classes, targets = encode_classes(texts, found)
    labels = _merge_duplicates(found.nodes[0], targets, classes, known, table.name, store)
    _require_two_classes(labels, table.name)
    report = {
        "source": table.name,
        "rows": len(table),
        "accounts": len(labels),
        "repeated_rows": len(found.rows) - len(labels),
        "unknown": found.unknown,
        "classes": class_counts(labels.targets, classes),
    }
    return Labels(labels.nodes, labels.targets, classes, labels.known_at, report)


def labels_from_arrays(
    nodes: NDArray[np.int64],
    targets: NDArray[np.int64],
    classes: tuple[str, ...],
    store: Store,
    name: str,
    weights: NDArray[np.float64],
) -> Labels:
    """Build labels from arrays. Duplicates are merged as in ``read_labels``, and their weights are added.

    Args:
        nodes: The node number of each row.
        targets: The class of each row, as an index into ``classes``.
        classes: The names of the classes.
        store: The store that holds the accounts.
        name: The name of the labels in error messages and in the report.
        weights: The weight of each row.
    """
    labels = _merge_duplicates(nodes, targets, classes, None, name, store)
    _require_two_classes(labels, name)
    report = {
        "source": name,
        "rows": len(nodes),
        "accounts": len(labels),
        "repeated_rows": len(nodes) - len(labels),
        "classes": class_counts(labels.targets, classes),
    }
    summed = sum_weights(weights, np.searchsorted(labels.nodes, nodes))
    return Labels(labels.nodes, labels.targets, classes, None, report, weights=summed)


def sum_weights(weights: NDArray[np.float64], example: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Sum the weights of the rows of each example.

    Args:
        weights: The weight of each row.
        example: The index of the example that each row belongs to.

    Returns:
        One weight per example, or None if all are equal. With None, training is bit-identical to training without
        weights.
    """
    sums: NDArray[np.float64] = np.bincount(example, weights).astype(np.float64)
    return None if (sums == sums[0]).all() else sums


def positive_class(labels: Labels, given: str | None = None) -> str | None:
    """Return the positive class: ``given``, or the rarer of two classes (on a tie, the last by name).

    Returns None if there are more than two classes.
    """
    if given is not None and (given not in labels.classes or len(labels.classes) != 2):
        raise UsageError(
            "positive class: must be one of two classes "
            f"(got {given!r}; the labels are {', '.join(map(repr, labels.classes))}). Pass one of two classes, or none."
        )
    if given is not None or len(labels.classes) != 2:
        return given
    first, last = np.bincount(labels.targets, minlength=2)
    return labels.classes[0] if first < last else labels.classes[1]


def class_counts(targets: NDArray[np.int64], classes: tuple[str, ...]) -> dict[str, int]:
    """Count the examples of each class."""
    counts = np.bincount(targets, minlength=len(classes))
    return {name: int(count) for name, count in zip(classes, counts, strict=True)}


def encode_classes(texts: pa.ChunkedArray, found: FoundRows) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the sorted classes of the found rows, and the class index of each of these rows."""
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
            f"(got {', '.join(others) or 'none'}). Pass the name of the label column."
        )
    return others[0]


def _parse_times(table: TextTable, column: str, store: Store) -> NDArray[np.int64]:
    """Parse a column of times into stored times. Each distinct text is parsed once."""
    encoded = table.texts(column).combine_chunks().dictionary_encode()
    values: list[int | None] = [_parse_time(text, store) for text in encoded.dictionary.to_pylist()]
    codes: NDArray[np.int64] = np.asarray(encoded.indices).astype(np.int64)
    bad = np.array([value is None for value in values], dtype=bool)[codes] if values else np.zeros(0, bool)
    if bad.any():
        record = np.flatnonzero(bad)[:1]
        text = encoded.dictionary[int(codes[record[0]])].as_py()
        rule = f"must be a number or an ISO 8601 date (got {text[:80]!r})"
        table.reject_records(record, column, rule, "Write it as 2024-01-31 or 2024-01-31T12:00:00Z")
    times: NDArray[np.int64] = np.array(values, dtype=np.int64)[codes]
    return times


def _parse_time(text: str, store: Store) -> int | None:
    """Parse one time; None if it is not a number or a date, or does not fit into 64 bits."""
    try:
        time = parse_instant(text, store.unit, store.manifest.schema["time_unit"])
    except UsageError:
        return None
    return time if abs(time) < 2**63 else None


def _merge_duplicates(
    nodes: NDArray[np.int64],
    targets: NDArray[np.int64],
    classes: tuple[str, ...],
    known_at: NDArray[np.int64] | None,
    name: str,
    store: Store,
) -> Labels:
    """Merge the rows of each account into one label; raise if they disagree."""
    order = np.lexsort((np.zeros_like(nodes) if known_at is None else known_at, nodes))
    ordered, labels = nodes[order], targets[order]
    distinct, first, group = np.unique(ordered, return_index=True, return_inverse=True)
    clashing = np.unique(ordered[labels != labels[first][group]])
    if len(clashing):
        shown = ", ".join(repr(store.account(int(node))) for node in clashing[:SHOWN])
        more = ", ..." if len(clashing) > SHOWN else ""
        raise DataError(
            f"{name}: an account may have one label (got {len(clashing):,} with rows that disagree: {shown}{more}). "
            "Keep the right row of each."
        )
    known = None if known_at is None else known_at[order][first]
    return Labels(distinct, labels[first], classes, known, {})


def _require_two_classes(labels: Labels, name: str) -> None:
    if not len(labels):
        raise DataError(f"{name}: must hold at least one label of an account in the store (got none). Add labels.")
    if len(labels.classes) < 2:
        raise DataError(
            f"{name}: labels must be of at least two classes (got only {labels.classes[0]!r}, {len(labels):,} times). "
            "Add labels of another class. Unlabelled accounts do not count as a class."
        )
