"""Split labelled accounts into training, validation and test parts, each with its own cut.

- ``temporal_split`` is the rule. A model is evaluated on accounts that appeared after its training accounts, as in
  production.
- ``stratified_folds`` is the paper's protocol. Accounts are assigned at random, all parts see the same graph, and
  metrics come out higher.
- ``validation_split`` has no test part. It is for callers that evaluate the model themselves, such as cross-validation.

All of them leave out and count labels that do not exist as of ``as_of``: accounts without an event before it (the model
would have no history to read) and labels that become known at or after it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import DataError, UsageError
from gtea.store.store import Store
from gtea.store.time_units import Instant, date_text
from gtea.tasks.labels import Labels, class_counts

FRACTIONS = (0.6, 0.2, 0.2)
"""Shares of train, validation and test, as in the paper."""
_BY_TIME = "temporal"
_NUM_BLOCKS = 3
"""Into so many blocks of time is the validation part cut."""
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Part:
    """The labelled accounts of one part, and their cut."""

    index: NDArray[np.int64]
    """Indices into the arrays of the labels."""
    as_of: int
    """The cut of this part, as a stored time: models see only events before it."""
    appeared: tuple[int, int]
    """The earliest and the latest first event of its accounts."""
    classes: dict[str, int]

    def __len__(self) -> int:
        return len(self.index)


@dataclass(frozen=True)
class Split:
    """Parts without common accounts."""

    name: str
    train: Part
    validation: Part
    test: Part | None
    """None if the caller evaluates the model itself."""
    left_out: dict[str, int]
    """The number of labelled accounts in no part, by reason."""
    unit: str
    """The unit of the stored times."""
    instead: str = ""
    """Why accounts are split at random where a split by time is the rule."""

    @property
    def by_time(self) -> bool:
        """Whether accounts are in the order of their first events, within and across parts."""
        return self.name == _BY_TIME

    @property
    def parts(self) -> dict[str, Part]:
        """The parts by name: train, validation and, if there is one, test."""
        test = {} if self.test is None else {"test": self.test}
        return {"train": self.train, "validation": self.validation, **test}

    def with_validation(self) -> Part:
        """The training and validation accounts as one part, as of the cut of the validation part."""
        train, validation = self.train, self.validation
        return Part(
            np.concatenate([train.index, validation.index]),
            validation.as_of,
            (min(train.appeared[0], validation.appeared[0]), max(train.appeared[1], validation.appeared[1])),
            {name: count + validation.classes[name] for name, count in train.classes.items()},
        )

    def validation_blocks(self) -> list[NDArray[np.int64]]:
        """Indices of the validation accounts, in blocks of those that appeared at about the same time.

        None if the split is not by time, or there is no later cut from which to look back at them.
        """
        if not self.by_time or self.test is None or self.test.as_of <= self.validation.as_of:
            return []
        return [block for block in np.array_split(self.validation.index, _NUM_BLOCKS) if len(block)]

    def describe(self) -> dict[str, Any]:
        """Return the sizes, classes and time ranges of the parts as JSON values."""
        facts: dict[str, Any] = {"split": self.name, "left_out": self.left_out}
        for name, part in self.parts.items():
            facts[name] = {
                "accounts": len(part),
                "classes": part.classes,
                "accounts_appeared": [date_text(time, self.unit) for time in part.appeared],
                "sees_graph_before": date_text(part.as_of, self.unit),
                "as_of": part.as_of,
            }
        return facts


def temporal_split(
    labels: Labels, store: Store, *, fractions: Sequence[float] = FRACTIONS, as_of: Instant | None = None
) -> Split:
    """Split accounts by the time of their first event. Ties are broken by account id.

    Training sees the graph as of the first event of the first validation account, validation as of the first event of
    the first test account, and the test part as of ``as_of``. If the accounts on both sides of a boundary appeared at
    the same time, the cut is just after that time; otherwise the account before the boundary would have no history.

    A label that became known at or after the cut of its part is left out: it was not available at that time.

    Args:
        labels: The labelled accounts.
        store: The store that holds the accounts.
        fractions: The shares of the accounts in train, validation and test.
        as_of: The cut of the test part. Defaults to just after the last event.
    """
    check_fractions(fractions)
    cut = store.as_of(as_of).cut
    appeared = first_events(store, labels.nodes)
    index, left_out = _usable(labels, appeared, store, cut)
    # Nodes are numbered in the order of their ids, so that a stable sort breaks ties by id.
    index = index[np.argsort(appeared[index], kind="stable")]
    pieces = np.split(index, boundaries(len(index), fractions))
    _require_examples(pieces, labels, "temporal split")
    between = [_boundary(appeared[before], appeared[after]) for before, after in itertools.pairwise(pieces)]
    cuts = [*between, cut]
    kept = [piece[_known(labels, piece, part_cut)] for piece, part_cut in zip(pieces, cuts, strict=True)]
    left_out["label_known_after_its_part"] = len(index) - sum(len(piece) for piece in kept)
    _require_examples(kept, labels, "temporal split")
    train, validation, test = (_part(*each, labels, appeared) for each in zip(kept, cuts, strict=True))
    return Split(_BY_TIME, train, validation, test, left_out, store.unit)


def stratified_folds(
    labels: Labels, store: Store, *, k: int = 5, seed: int = 0, as_of: Instant | None = None
) -> tuple[Split, ...]:
    """Split accounts as in the paper: split i tests on fold i, validates on fold i + 1 and trains on the others.

    Folds are stratified: class sizes differ by at most one between folds. Five folds give 60/20/20. A class with fewer
    than k accounts is missing from some folds, and a model that is trained without it misclassifies its accounts. All
    parts see the same graph, so the metrics measure how well the classes can be separated, not how well a model
    predicts the future.

    Args:
        labels: The labelled accounts.
        store: The store that holds the accounts.
        k: The number of folds.
        seed: The seed of the random assignment.
        as_of: The cut of all parts. Defaults to just after the last event.
    """
    if k < 3:
        raise UsageError(f"k: must be at least 3, to train, validate and test on different folds (got {k}). Try 5.")
    cut = store.as_of(as_of).cut
    appeared = first_events(store, labels.nodes)
    index, left_out = _usable(labels, appeared, store, cut)
    folds = _stratified(index, labels, k, seed)
    splits = []
    for fold in range(k):
        validation_fold = (fold + 1) % k
        others = np.sort(np.concatenate([folds[i] for i in range(k) if i not in (fold, validation_fold)]))
        train, validation, test = (
            _part(piece, cut, labels, appeared) for piece in (others, folds[validation_fold], folds[fold])
        )
        splits.append(Split(f"fold {fold + 1} of {k}", train, validation, test, left_out, store.unit))
    return tuple(splits)


def validation_split(labels: Labels, store: Store, *, fraction: float = 0.25, as_of: Instant | None = None) -> Split:
    """Train on the accounts that appeared first and validate on the latest. Both parts see the graph as of ``as_of``.

    If this leaves a part without one of the classes, the latest accounts of each class are held out instead.

    Args:
        labels: The labelled accounts.
        store: The store that holds the accounts.
        fraction: The share of the accounts to hold out.
        as_of: The cut of both parts. Defaults to just after the last event.
    """
    check_validation_fraction(fraction)
    cut = store.as_of(as_of).cut
    appeared = first_events(store, labels.nodes)
    index, left_out = _usable(labels, appeared, store, cut)
    index = index[np.argsort(appeared[index], kind="stable")]
    targets = labels.targets[index]
    classes = np.unique(targets)
    late = np.arange(len(index)) >= round(len(index) * (1 - fraction))
    if any(len(np.unique(targets[part])) < len(classes) for part in (late, ~late)):
        late = last_of_each_class(targets, labels.classes, fraction, "accounts")
    train, validation = (_part(np.sort(piece), cut, labels, appeared) for piece in (index[~late], index[late]))
    return Split("validation on the latest", train, validation, None, left_out, store.unit)


def first_events(store: Store, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the time of each node's first event, or the largest int64 for a node without events."""
    arrays = store.arrays
    start, stop = arrays.node_offset[nodes], arrays.node_offset[nodes + 1]
    times = np.full(len(nodes), _NEVER, dtype=np.int64)
    # The slots of a node are sorted by their first events.
    times[start < stop] = arrays.slot_first_time[start[start < stop]]
    return times


def check_fractions(fractions: Sequence[float]) -> None:
    """Raise unless the shares are three positive numbers that add up to 1."""
    if len(fractions) != 3 or min(fractions) <= 0 or not abs(sum(fractions) - 1) <= 1e-9:
        raise UsageError(
            "fractions: must be three positive numbers, train, validation and test, that add up to 1 "
            f"(got {', '.join(map(str, fractions))}). Try 0.6, 0.2, 0.2."
        )


def check_validation_fraction(fraction: float) -> None:
    """Raise if the share leaves nothing for training or nothing for validation."""
    if not 0 < fraction < 1:
        raise UsageError(f"validation_fraction: must be above 0 and below 1 (got {fraction}). Try 0.25.")


def boundaries(count: int, fractions: Sequence[float]) -> list[int]:
    """Return the positions at which validation and test begin, for ``count`` ordered examples."""
    # 1e-6 compensates for rounding: 0.7 + 0.1 is slightly less than 0.8.
    return [int(count * share + 1e-6) for share in np.cumsum(fractions)[:2]]


def _usable(
    labels: Labels, appeared: NDArray[np.int64], store: Store, cut: int
) -> tuple[NDArray[np.int64], dict[str, int]]:
    """Return the indices of the labels that exist as of the cut, and the number of labels left out by reason."""
    all_labels = np.arange(len(labels))
    has_history = appeared < cut
    known = _known(labels, all_labels, cut)
    not_known = int((has_history & ~known).sum()) + labels.known_later
    no_event = int((~has_history).sum()) + labels.no_event_yet
    left_out = {"no_event_yet": no_event, "label_not_known_yet": not_known}
    index = all_labels[has_history & known]
    if not len(index):
        total = len(labels) + labels.known_later + labels.no_event_yet
        raise DataError(
            f"labels: none can be used as of {store.date(cut)} (got {total:,}: "
            f"{no_event:,} of accounts without an event before it, {not_known:,} known only later). "
            "Give a later as_of."
        )
    present = np.unique(labels.targets[index])
    if len(present) < 2:
        raise DataError(
            f"labels: must be of at least two classes as of {store.date(cut)} (got only "
            f"{labels.classes[int(present[0])]!r}, {len(index):,} times). Add labels, or give a later as_of."
        )
    return index, left_out


def _known(labels: Labels, index: NDArray[np.int64], cut: int) -> NDArray[np.bool_]:
    """Return whether each label was known before the cut. As with events, a label known at exactly the cut is later."""
    if labels.known_at is None:
        return np.ones(len(index), dtype=bool)
    return np.asarray(labels.known_at[index] < cut)


def _boundary(before: NDArray[np.int64], after: NDArray[np.int64]) -> int:
    """Return the cut between two parts, given the first events of their accounts in ascending order."""
    return int(max(after[0], before[-1] + 1))


def last_of_each_class(
    targets: NDArray[np.int64], classes: Sequence[str], fraction: float, what: str
) -> NDArray[np.bool_]:
    """Mark the last examples of each class: a share of them, but at least one and never all.

    Args:
        targets: The classes of the examples, in order, as indices into ``classes``.
        classes: The names of the classes.
        fraction: The share to mark.
        what: The word for examples in error messages.
    """
    late = np.zeros(len(targets), dtype=bool)
    for target in np.unique(targets):
        members = np.flatnonzero(targets == target)
        if len(members) < 2:
            raise DataError(
                f"labels: training and validation need at least 2 {what} of every class "
                f"(got 1 of {classes[int(target)]!r}). Add labels, or leave the class out."
            )
        count = min(max(round(len(members) * fraction), 1), len(members) - 1)
        late[members[-count:]] = True
    return late


def _stratified(index: NDArray[np.int64], labels: Labels, k: int, seed: int) -> list[NDArray[np.int64]]:
    """Assign accounts to k folds round-robin, sorted by class and shuffled within a class: folds are balanced too."""
    counts = class_counts(labels.targets[index], labels.classes)
    if sum(count >= k for count in counts.values()) < 2:
        shown = ", ".join(f"{name!r}: {count}" for name, count in counts.items() if count)
        raise DataError(
            f"labels: {k} folds need at least {k} accounts of each of two classes (got {shown}). "
            "Add labels, or use fewer folds."
        )
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(index)
    by_class = shuffled[np.argsort(labels.targets[shuffled], kind="stable")]
    return [np.sort(by_class[fold::k]) for fold in range(k)]


def _require_examples(pieces: Sequence[NDArray[np.int64]], labels: Labels, what: str) -> None:
    """Raise if a part has fewer than two classes: it is of no use for training or evaluation."""
    for name, piece in zip(("train", "validation", "test"), pieces, strict=True):
        if len(np.unique(labels.targets[piece])) < 2:
            counts = class_counts(labels.targets[piece], labels.classes)
            shown = ", ".join(f"{label!r}: {count}" for label, count in counts.items() if count) or "no account"
            raise DataError(
                f"{what}: the {name} part must hold accounts of at least two classes (got {shown}). "
                "Add labels, change the fractions, give another as_of, or use folds."
            )


def _part(index: NDArray[np.int64], cut: int, labels: Labels, appeared: NDArray[np.int64]) -> Part:
    times = appeared[index]
    return Part(index, cut, (int(times.min()), int(times.max())), class_counts(labels.targets[index], labels.classes))
