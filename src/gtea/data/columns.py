"""Which columns of the input mean what, and which may not be used at all."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from gtea.errors import UsageError

# A column of such a name is an answer, not evidence. Training on it gives a perfect score and no use.
_LABEL_NAMES = frozenset(
    {"label", "labels", "state_label", "is_fraud", "isfraud", "fraud", "is_illicit", "illicit"}
    | {"is_phishing", "phishing", "is_laundering", "is laundering", "is_scam", "is_suspicious"}
)


@dataclass(frozen=True)
class EventShape:
    """What an event carries besides its pair and time, by the names of the staged columns: f0.. and c0.."""

    features: tuple[str, ...]
    categorical: tuple[str, ...]


@dataclass(frozen=True)
class EventColumns:
    """The names, in the input, of the parts of an event."""

    src: str
    dst: str
    time: str
    features: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Every column that is read, in the order of the staged table."""
        return (self.src, self.dst, self.time, *self.features, *self.categorical)

    @property
    def shape(self) -> EventShape:
        """The names that the features have inside, where the user's own can't clash with ours."""
        features = tuple(f"f{i}" for i in range(len(self.features)))
        return EventShape(features, tuple(f"c{i}" for i in range(len(self.categorical))))


@dataclass(frozen=True)
class NodeColumns:
    """The names, in the node table, of the account id and the features."""

    node_id: str
    features: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """Every column that is read, in the order of the staged table."""
        return (self.node_id, *self.features)


def check_event_columns(columns: EventColumns, label_columns: Sequence[str] = ()) -> None:
    """Refuse columns that are named twice and labels that pose as features."""
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
                f"--features: an account id is no feature (got {name!r}). "
                "The model would learn names by heart; leave it out."
            )


def check_node_columns(columns: NodeColumns, label_columns: Sequence[str] = ()) -> None:
    """Refuse a node table whose features are repeated, are the id, or are labels."""
    if not columns.features:
        raise UsageError("--node-features: must name at least one column (got none). Name them, or drop --nodes.")
    _refuse_repeats("--node-features", columns.all)
    _refuse_labels(columns.features, label_columns)


def require_columns(subject: str, wanted: Sequence[str], found: Sequence[str]) -> None:
    """Refuse, with a suggestion, names that the input doesn't have."""
    for name in wanted:
        if name not in found:
            near = difflib.get_close_matches(name, found, n=1)
            remedy = f"Did you mean {near[0]!r}?" if near else f"Its columns are: {', '.join(found)}."
            raise UsageError(f"{subject}: has no column {name!r}. {remedy}")


def _refuse_repeats(option: str, names: Sequence[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise UsageError(f"{option}: each column may be named once (got {', '.join(repeated)} twice). Drop one.")


def _refuse_labels(names: Sequence[str], label_columns: Sequence[str]) -> None:
    for name in names:
        if name in label_columns or name.strip().lower() in _LABEL_NAMES:
            raise UsageError(
                f"{name!r}: a label can't be a feature, the model would be told the answer. "
                "Leave it out; if it is no label, rename the column."
            )
