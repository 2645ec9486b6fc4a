"""Which labelled accounts train a model, choose it and judge it, and what each of them may see of the graph.

``temporal_split`` is the default: a model is evaluated on accounts that appeared after those it was trained on, as it
will be in use. ``stratified_folds`` are the paper's: any account may land anywhere, the graph is the same for all,
and figures come out higher. ``validation_split`` has no test part: it is for callers who judge for themselves.

All leave out, and count, labels that don't exist yet as of the moment asked for: accounts without an event before it
(the model would have nothing to look at) and labels that become known only at or after it.
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
"""Train, validation, test, as in the paper."""
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Part:
    """The examples of one part, and the cut that the graph has for them."""

    index: NDArray[np.int64]
    """Places in the labels' arrays."""
    as_of: int
    """The stored time at and after which nothing may be seen by whoever works on this part."""
    appeared: tuple[int, int]
    """When the first and the last of its accounts had their first event."""
    classes: dict[str, int]

    def __len__(self) -> int:
        return len(self.index)


@dataclass(frozen=True)
class Split:
    """Parts that share no account."""

    name: str
    train: Part
    validation: Part
    test: Part | None
    """None where whoever asked judges the model elsewhere."""
    left_out: dict[str, int]
    """Labelled accounts in no part, by reason."""
    unit: str
    """The unit of the stored times."""

    @property
    def parts(self) -> dict[str, Part]:
        """The parts by name, in the order of their use."""
        test = {} if self.test is None else {"test": self.test}
        return {"train": self.train, "validation": self.validation, **test}

    def describe(self) -> dict[str, Any]:
        """Sizes, classes and intervals of the parts, ready for JSON."""
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
    """Split accounts by the time of their first event; equal times by account id, in the store's order of ids.

    Training sees the graph as of the first event of the first validation account, validation as of that of the first
    test account, the test as of ``as_of`` (by default just after the last event). Where the last account before such
    a boundary appeared at the very same time as the first one after it, the cut is just after that time: else it would
    be an example without history.

    A label that became known only at or after its part's cut is left out of the part: nobody could have used it.
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
    return Split("temporal", train, validation, test, left_out, store.unit)


def stratified_folds(
    labels: Labels, store: Store, *, k: int = 5, seed: int = 0, as_of: Instant | None = None
) -> tuple[Split, ...]:
    """The paper's cross-validation: split i tests on fold i, validates on fold i + 1 and trains on the others.

    Every fold has its share of every class, to within one; five folds give 60/20/20. A class of fewer than k accounts
    is missing from some folds, and whoever trains without it errs on it. All parts see the same graph, so this says how
    well accounts can be told apart, not how well the future can be foretold.
    """
    if k < 3:
        raise UsageError(f"k: must be at least 3, to train, validate and test on different folds (got {k}). Try 5.")
    cut = store.as_of(as_of).cut
    appeared = first_events(store, labels.nodes)
    index, left_out = _usable(labels, appeared, store, cut)
    folds = _dealt(index, labels, k, seed)
    splits = []
    for fold in range(k):
        beside = (fold + 1) % k
        others = np.sort(np.concatenate([folds[i] for i in range(k) if i not in (fold, beside)]))
        train, validation, test = (
            _part(piece, cut, labels, appeared) for piece in (others, folds[beside], folds[fold])
        )
        splits.append(Split(f"fold {fold + 1} of {k}", train, validation, test, left_out, store.unit))
    return tuple(splits)


def validation_split(labels: Labels, store: Store, *, fraction: float = 0.25, as_of: Instant | None = None) -> Split:
    """Train on the accounts that appeared first, validate on the latest; both see the graph as of ``as_of``.

    Where that would leave a part without one of the classes, the latest accounts of each class validate.
    """
    check_validation_fraction(fraction)
    cut = store.as_of(as_of).cut
    appeared = first_events(store, labels.nodes)
    index, left_out = _usable(labels, appeared, store, cut)
    index = index[np.argsort(appeared[index], kind="stable")]
    targets = labels.targets[index]
    kinds = np.unique(targets)
    late = np.arange(len(index)) >= round(len(index) * (1 - fraction))
    if any(len(np.unique(targets[part])) < len(kinds) for part in (late, ~late)):
        late = last_of_each(targets, labels.classes, fraction, "accounts")
    train, validation = (_part(np.sort(piece), cut, labels, appeared) for piece in (index[~late], index[late]))
    return Split("validation on the latest", train, validation, None, left_out, store.unit)


def first_events(store: Store, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The time of each node's first event; the largest int64 for a node that has none."""
    arrays = store.arrays
    start, stop = arrays.node_offset[nodes], arrays.node_offset[nodes + 1]
    times = np.full(len(nodes), _NEVER, dtype=np.int64)
    # A node's slots are in the order of their first events.
    times[start < stop] = arrays.slot_first_time[start[start < stop]]
    return times


def check_fractions(fractions: Sequence[float]) -> None:
    """Refuse shares that are not three positive numbers that make up the whole."""
    if len(fractions) != 3 or min(fractions) <= 0 or abs(sum(fractions) - 1) > 1e-9:
        raise UsageError(
            "fractions: must be three positive numbers, train, validation and test, that add up to 1 "
            f"(got {', '.join(map(str, fractions))}). Try 0.6, 0.2, 0.2."
        )


def check_validation_fraction(fraction: float) -> None:
    """Refuse a share that leaves nothing to train on, or nothing to choose by."""
    if not 0 < fraction < 1:
        raise UsageError(f"validation_fraction: must be above 0 and below 1 (got {fraction}). Try 0.25.")


def boundaries(count: int, fractions: Sequence[float]) -> list[int]:
    """Where validation and test begin among so many ordered examples."""
    # The tiny amount makes up for sums such as 0.7 + 0.1 that fall just short of what they stand for.
    return [int(count * share + 1e-6) for share in np.cumsum(fractions)[:2]]


def _usable(
    labels: Labels, appeared: NDArray[np.int64], store: Store, cut: int
) -> tuple[NDArray[np.int64], dict[str, int]]:
    """The places of labels that exist as of the cut, and how many were left out for what reason."""
    everyone = np.arange(len(labels))
    has_history = appeared < cut
    known = _known(labels, everyone, cut)
    not_known = int((has_history & ~known).sum()) + labels.known_later
    no_event = int((~has_history).sum()) + labels.no_event_yet
    left_out = {"no_event_yet": no_event, "label_not_known_yet": not_known}
    index = everyone[has_history & known]
    if not len(index):
        raise DataError(
            f"labels: none can be used as of {store.date(cut)} (got {len(labels) + labels.known_later + labels.no_event_yet:,}: "
            f"{left_out['no_event_yet']:,} of accounts without an event before it, {not_known:,} known only later). "
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
    """Whether each label was known before a cut. At exactly the cut it wasn't, as with events."""
    if labels.known_at is None:
        return np.ones(len(index), dtype=bool)
    return np.asarray(labels.known_at[index] < cut)


def _boundary(before: NDArray[np.int64], after: NDArray[np.int64]) -> int:
    """The cut between two parts, given when their accounts appeared."""
    return int(max(after[0], before[-1] + 1))


def last_of_each(targets: NDArray[np.int64], classes: Sequence[str], fraction: float, what: str) -> NDArray[np.bool_]:
    """Of examples in order, whether each is among the last of its class: at least one of them, and never all.

    Args:
        what: What examples are called in messages.
    """
    late = np.zeros(len(targets), dtype=bool)
    for kind in np.unique(targets):
        places = np.flatnonzero(targets == kind)
        if len(places) < 2:
            raise DataError(
                f"labels: training and validation need at least 2 {what} of every class "
                f"(got 1 of {classes[int(kind)]!r}). Add labels, or leave the class out."
            )
        held = min(max(round(len(places) * fraction), 1), len(places) - 1)
        late[places[-held:]] = True
    return late


def _dealt(index: NDArray[np.int64], labels: Labels, k: int, seed: int) -> list[NDArray[np.int64]]:
    """Folds: each class shuffled, then all dealt out one by one, so that folds and classes are even at once."""
    counts = class_counts(labels.targets[index], labels.classes)
    if sum(count >= k for count in counts.values()) < 2:
        shown = ", ".join(f"{name!r}: {count}" for name, count in counts.items() if count)
        raise DataError(
            f"labels: {k} folds need at least {k} accounts of each of two classes (got {shown}). "
            "Add labels, or take fewer folds."
        )
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(index)
    deck = shuffled[np.argsort(labels.targets[shuffled], kind="stable")]
    return [np.sort(deck[fold::k]) for fold in range(k)]


def _require_examples(pieces: Sequence[NDArray[np.int64]], labels: Labels, what: str) -> None:
    """Refuse parts that can't be learnt from or evaluated on."""
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
