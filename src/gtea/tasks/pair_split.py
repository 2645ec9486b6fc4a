"""Which labelled pairs train a model and which choose its best epoch.

All pairs are asked about as of one moment, so that there is no earlier and later among them, and the validation part
is drawn by chance: it should be like the pairs that will be asked about, old and new accounts in their proportions.
Each class gives its share. The draw is keyed by the two ids together: u with v and v with u, which to an undirected
store are one pair, land on the same side, and neither the order of the rows nor accounts that the store meets later
move it.

Pairs with an account that has no event before the moment are left out and counted. As of then nobody could have named
it, and a model would learn that strangers are links, because those who drew the non-links could only draw from those
they knew.
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
from gtea.tasks.splits import check_validation_fraction, first_events, last_of_each


@dataclass(frozen=True)
class PairPart:
    """The pairs of one part, and the cut that the graph has for them."""

    index: NDArray[np.int64]
    """Places in the arrays of the pairs."""
    as_of: int
    """The stored time at and after which nothing may be seen by whoever works on this part."""
    classes: dict[str, int]

    def __len__(self) -> int:
        return len(self.index)


@dataclass(frozen=True)
class PairSplit:
    """Two parts that share no pair."""

    train: PairPart
    validation: PairPart
    left_out: dict[str, int]
    """Pairs in no part, by reason."""
    unit: str
    """The unit of the stored times."""

    def describe(self) -> dict[str, Any]:
        """Sizes, classes and cuts of the parts, ready for JSON."""
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
    """Hold a share of labelled pairs back to choose the best epoch by; both parts see the graph as of ``as_of``."""
    check_validation_fraction(fraction)
    assert pairs.targets is not None, "only labelled pairs can be learnt from"
    cut = store.as_of(as_of).cut
    index = np.flatnonzero((first_events(store, pairs.src) < cut) & (first_events(store, pairs.dst) < cut))
    _require_two(pairs, index, store, cut)
    order = index[np.argsort(_draws(pairs, store, seed)[index], kind="stable")]
    held = last_of_each(pairs.targets[order], pairs.classes, fraction, "pairs")
    train, validation = (
        PairPart(np.sort(part), cut, class_counts(pairs.targets[part], pairs.classes))
        for part in (order[~held], order[held])
    )
    return PairSplit(train, validation, {"account_has_no_event_yet": len(pairs) - len(index)}, store.unit)


def _draws(pairs: Pairs, store: Store, seed: int) -> NDArray[np.uint64]:
    """One random word a pair. A sum doesn't know which end comes first."""
    state = stream(seed, Purpose.SPLIT)
    ends = [words(state, keys_of_nodes(store, nodes)) for nodes in (pairs.src, pairs.dst)]
    drawn: NDArray[np.uint64] = words(state, ends[0] + ends[1])
    return drawn


def _require_two(pairs: Pairs, index: NDArray[np.int64], store: Store, cut: int) -> None:
    assert pairs.targets is not None
    counts = class_counts(pairs.targets[index], pairs.classes)
    present = {name: count for name, count in counts.items() if count}
    if len(present) < 2:
        shown = ", ".join(f"{count:,} of {name!r}" for name, count in present.items()) or "none"
        raise DataError(
            f"pairs: there must be some of both classes whose accounts have events before {store.date(cut)} "
            f"(got {shown}). Add pairs, or give a later as_of."
        )
