"""Split labelled pairs into a training part and a validation part that chooses the best epoch.

All pairs are scored as of the same cut, so they have no order in time. The validation part is a stratified random
sample: it should look like the pairs that will be scored, with old and new accounts in the same proportions. The random
draw is a function of both ids together. (u, v) and (v, u), which are one pair in an undirected store, therefore land in
the same part, and neither the row order nor accounts that are added to the store later change the split.

Pairs with an account that has no event before the cut are left out and counted. Such an account does not exist yet at
the cut. Negatives are drawn among existing accounts only, so a model would learn that every pair with a new account is
a link.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import DataError
from gtea.runtime.rng import Purpose, stream, words
from gtea.store.account_keys import keys_of_nodes
from gtea.store.store import Store
from gtea.store.time_units import Instant, date_text
from gtea.tasks.labels import class_counts
from gtea.tasks.pairs import Pairs
from gtea.tasks.splits import check_validation_fraction, first_events, last_of_each_class


@dataclass(frozen=True)
class PairPart:
    """The pairs of one part, and their cut."""

    index: NDArray[np.int64]
    """Indices into the arrays of the pairs."""
    as_of: int
    """The cut of this part, as a stored time: models see only events before it."""
    classes: dict[str, int]

    def __len__(self) -> int:
        return len(self.index)


@dataclass(frozen=True)
class PairSplit:
    """A training and a validation part without common pairs."""

    train: PairPart
    validation: PairPart
    left_out: dict[str, int]
    """The number of pairs in neither part, by reason."""
    unit: str
    """The unit of the stored times."""

    def with_validation(self) -> PairPart:
        """All pairs as one part."""
        train, validation = self.train, self.validation
        classes = {name: count + validation.classes[name] for name, count in train.classes.items()}
        return PairPart(np.concatenate([train.index, validation.index]), validation.as_of, classes)

    def describe(self) -> dict[str, Any]:
        """Return the sizes, classes and cuts of the parts as JSON values."""
        facts: dict[str, Any] = {"split": "pairs by chance, each class its share", "left_out": self.left_out}
        for name, part in (("train", self.train), ("validation", self.validation)):
            facts[name] = {
                "pairs": len(part),
                "classes": part.classes,
                "sees_graph_before": date_text(part.as_of, self.unit),
                "as_of": part.as_of,
            }
        return facts


def split_pairs(
    pairs: Pairs, store: Store, *, fraction: float = 0.25, seed: int = 0, as_of: Instant | None = None
) -> PairSplit:
    """Hold out a share of the labelled pairs for validation. Both parts see the graph as of ``as_of``.

    Args:
        pairs: The labelled pairs.
        store: The store that holds their accounts.
        fraction: The share of the pairs to hold out.
        seed: The seed of the random draw.
        as_of: The cut of both parts. Defaults to just after the last event.
    """
    check_validation_fraction(fraction)
    assert pairs.targets is not None, "training needs labelled pairs"
    cut = store.as_of(as_of).cut
    index = np.flatnonzero((first_events(store, pairs.src) < cut) & (first_events(store, pairs.dst) < cut))
    _require_two_classes(pairs, index, store, cut)
    order = index[np.argsort(_draws(pairs, store, seed)[index], kind="stable")]
    held_out = last_of_each_class(pairs.targets[order], pairs.classes, fraction, "pairs")
    train, validation = (
        PairPart(np.sort(part), cut, class_counts(pairs.targets[part], pairs.classes))
        for part in (order[~held_out], order[held_out])
    )
    return PairSplit(train, validation, {"account_has_no_event_yet": len(pairs) - len(index)}, store.unit)


def _draws(pairs: Pairs, store: Store, seed: int) -> NDArray[np.uint64]:
    """Draw one random word per pair. The sum makes it independent of the order of the two accounts."""
    state = stream(seed, Purpose.SPLIT)
    ends = [words(state, keys_of_nodes(store, nodes)) for nodes in (pairs.src, pairs.dst)]
    drawn: NDArray[np.uint64] = words(state, ends[0] + ends[1])
    return drawn


def _require_two_classes(pairs: Pairs, index: NDArray[np.int64], store: Store, cut: int) -> None:
    assert pairs.targets is not None
    counts = class_counts(pairs.targets[index], pairs.classes)
    present = {name: count for name, count in counts.items() if count}
    if len(present) < 2:
        shown = ", ".join(f"{count:,} of {name!r}" for name, count in present.items()) or "none"
        raise DataError(
            f"pairs: there must be some of both classes whose accounts have events before {store.date(cut)} "
            f"(got {shown}). Add pairs, or give a later as_of."
        )
