"""Check the columns that the user chose: no column twice, no account id or label as a feature."""

from __future__ import annotations

from collections.abc import Sequence

from gtea.errors import UsageError
from gtea.store.schema import EventColumns, NodeColumns

# Columns with these names are labels. A model trained on them would have perfect metrics and be useless.
_LABEL_NAMES = frozenset(
    {"label", "labels", "state_label", "is_fraud", "isfraud", "fraud", "is_illicit", "illicit"}
    | {"is_phishing", "phishing", "is_laundering", "is laundering", "is_scam", "is_suspicious"}
)


def is_label_name(name: str) -> bool:
    """Whether a column of this name is a label."""
    return name.strip().lower() in _LABEL_NAMES


def check_event_columns(columns: EventColumns, label_columns: Sequence[str] = ()) -> None:
    """Refuse columns that are named twice, and account ids or labels as features."""
    structural = (columns.src, columns.dst, columns.time)
    if len(set(structural)) < 3:
        raise UsageError(
            f"--src, --dst, --time: must be three different columns (got {', '.join(structural)}). "
            "Name the column for each."
        )
    _refuse_repeats("--features/--categorical", (*columns.features, *columns.categorical))
    _refuse_labels((*columns.features, *columns.categorical), label_columns)
    for name in (*columns.features, *columns.categorical):
        if name in (columns.src, columns.dst):
            raise UsageError(
                f"--features: an account id can't be a feature (got {name!r}). "
                "The model would memorise accounts; leave it out."
            )


def check_node_columns(columns: NodeColumns, label_columns: Sequence[str] = ()) -> None:
    """Refuse a node table whose features are repeated, are the id, or are labels."""
    if not columns.features:
        raise UsageError("--node-features: must name at least one column (got none). Name them, or drop --nodes.")
    _refuse_repeats("--node-features", columns.all)
    _refuse_labels(columns.features, label_columns)


def _refuse_repeats(option: str, names: Sequence[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise UsageError(f"{option}: each column may be named once (got {', '.join(repeated)} twice). Drop one.")


def _refuse_labels(names: Sequence[str], label_columns: Sequence[str]) -> None:
    for name in names:
        if name in label_columns or is_label_name(name):
            raise UsageError(
                f"{name!r}: a label can't be a feature, because the model would see the answer. "
                "Leave it out; if it is not a label, rename the column."
            )
