"""Which links are to be foretold: the pairs that have an event after the graph was cut off.

All events are ordered by time. Those before ``graph_until`` make the graph; the rest is cut, by time, into windows for
training, validation and test. A pair is a positive of every window in which it has an event, whether or not it has
a history: to foretell a repetition counts as much as to foretell a first meeting. Negatives are drawn elsewhere.

Cuts are times, not places in a list: events at exactly a cut all come after it, as everywhere in gtea. Where many
events share the time of a cut, the part before it is a little smaller than its fraction.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gtea.errors import DataError, UsageError
from gtea.sampling.negatives import NegativeSampler
from gtea.store.store import Store
from gtea.store.time_units import Instant, date_text
from gtea.tasks.splits import FRACTIONS, boundaries, check_fractions

LinkProtocol = Literal["temporal", "paper"]
"""What the graph is for each window: as of the window's start (temporal), or of the first one's for all (paper)."""


GRAPH_FRACTION = 0.5
"""The share of the events that is the graph, unless its end is given."""


@dataclass(frozen=True)
class LinkPart:
    """The distinct pairs with an event in a window, in the order of their first events in it."""

    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    """Who sent and who received that first event."""
    edge: NDArray[np.int64]
    time: NDArray[np.int64]
    """The time of that first event."""
    seen: NDArray[np.bool_]
    """Whether the pair already has a history in the graph of this part."""
    window: tuple[int, int]
    """From this stored time, and before that one."""
    as_of: int
    """The stored time at and after which nothing may be seen by whoever works on this part."""
    without_negative: int = 0
    """Pairs left out because their source has dealt with everybody: there is no pair to hold against them."""

    def __len__(self) -> int:
        return len(self.src)

    def only(self, kept: NDArray[np.bool_]) -> LinkPart:
        """The pairs that have a negative; the others are counted."""
        left_out = self.without_negative + int((~kept).sum())
        ends = self.src[kept], self.dst[kept]
        return LinkPart(*ends, self.edge[kept], self.time[kept], self.seen[kept], self.window, self.as_of, left_out)


@dataclass(frozen=True)
class LinkSplit:
    """The graph and three windows after it."""

    protocol: LinkProtocol
    graph_until: int
    graph_pairs: int
    """How many pairs have an event before ``graph_until``. The paper counts each twice, once for each direction."""
    train: LinkPart
    validation: LinkPart
    test: LinkPart
    unit: str
    """The unit of the stored times."""
    train_parts: tuple[LinkPart, ...]
    """What training is asked: the training window, or shorter ones that it is cut into, each as of its own start."""

    @property
    def parts(self) -> dict[str, LinkPart]:
        """The parts by name, in the order of their use."""
        return {"train": self.train, "validation": self.validation, "test": self.test}

    def describe(self) -> dict[str, Any]:
        """Sizes and intervals of the parts, ready for JSON."""
        facts: dict[str, Any] = {
            "split": f"links, {self.protocol}",
            "graph_until": date_text(self.graph_until, self.unit),
            "graph_pairs": self.graph_pairs,
        }
        for name, part in self.parts.items():
            facts[name] = {
                "pairs": len(part),
                "pairs_seen_before": int(part.seen.sum()),
                "pairs_without_negative": part.without_negative,
                "window": [date_text(time, self.unit) for time in part.window],
                "sees_graph_before": date_text(part.as_of, self.unit),
                "as_of": part.as_of,
            }
        facts["train"] |= {"windows": len(self.train_parts), "examples": sum(map(len, self.train_parts))}
        return facts


def split_links(
    store: Store,
    *,
    graph_until: Instant | None = None,
    graph_fraction: float = GRAPH_FRACTION,
    fractions: Sequence[float] = FRACTIONS,
    protocol: LinkProtocol = "temporal",
    train_windows: int = 1,
    as_of: Instant | None = None,
) -> LinkSplit:
    """The positives of a link task, by window.

    Args:
        graph_until: The cut between the graph and the first window; by default, where the first ``graph_fraction`` of
            the events ends.
        fractions: The shares of the events from then on that make the three windows.
        train_windows: Under the temporal protocol, into how many windows of as many events the first one is cut for
            training. Those in which nothing happens, because events share a time, are none.
        as_of: Events at or after it don't exist. By default just after the last event.
    """
    check_fractions(fractions)
    if protocol not in ("temporal", "paper"):
        raise UsageError(f"protocol: must be 'temporal' or 'paper' (got {protocol!r}).")
    end = store.as_of(as_of).cut
    times = _event_times(store, end)
    start = _graph_end(times, graph_fraction) if graph_until is None else store.as_of(graph_until).cut
    after = np.sort(times[times >= start])
    if not len(after):
        raise DataError(
            f"links: there must be events from graph_until = {store.date(start)} to before {store.date(end)} "
            "(got none). Give an earlier graph_until."
        )
    first, second = (int(after[min(place, len(after) - 1)]) for place in boundaries(len(after), fractions))
    windows = [(start, first), (first, second), (second, end)]
    cuts = [start] * 3 if protocol == "paper" else [window[0] for window in windows]
    train, validation, test = (links_in(store, window, cut) for window, cut in zip(windows, cuts, strict=True))
    for name, part in (("train", train), ("validation", validation), ("test", test)):
        _require_pairs(name, part, store)
    arrays = store.arrays
    graph_pairs = int(((arrays.edge_first_time < start) & (arrays.edge_a != arrays.edge_b)).sum())
    train_parts = (train,) if protocol == "paper" else _training_parts(store, after, (start, first), train_windows)
    return LinkSplit(protocol, start, graph_pairs, train, validation, test, store.unit, train_parts)


def _training_parts(
    store: Store, times: NDArray[np.int64], window: tuple[int, int], count: int
) -> tuple[LinkPart, ...]:
    """The window cut into shorter ones, which know more of what was just before them than the whole would."""
    inside = times[: np.searchsorted(times, window[1])]
    starts = np.unique(inside[np.arange(count) * len(inside) // count])
    return tuple(links_in(store, within, within[0]) for within in itertools.pairwise([*map(int, starts), window[1]]))


def with_negatives(store: Store, split: LinkSplit) -> LinkSplit:
    """The split without the pairs that have no negative, which it counts instead; refused where none is left."""
    parts = {}
    for name, part in split.parts.items():
        parts[name] = part.only(NegativeSampler(store.as_of(part.as_of)).has_negatives(part.src))
        if not len(parts[name]):
            raise DataError(
                f"links: the {name} part must hold a pair whose source has not yet dealt with every account that "
                f"receives anything before {store.date(part.as_of)} (got none among {len(part):,}). "
                "Add accounts, or give an earlier graph_until."
            )
    train_parts = (
        part.only(NegativeSampler(store.as_of(part.as_of)).has_negatives(part.src)) for part in split.train_parts
    )
    return replace(
        split,
        train=parts["train"],
        validation=parts["validation"],
        test=parts["test"],
        # Later windows know more, and somebody may have dealt with everybody by then.
        train_parts=tuple(part for part in train_parts if len(part)) or (parts["train"],),
    )


def _event_times(store: Store, end: int) -> NDArray[np.int64]:
    """The times of all events before the end that are between two accounts: one's payments to oneself are no links."""
    arrays = store.arrays
    between = arrays.event_time < end
    loops = arrays.edge_a == arrays.edge_b
    if loops.any():
        between &= ~np.repeat(loops, np.diff(arrays.edge_offset))
    return np.asarray(arrays.event_time[between])


def _graph_end(times: NDArray[np.int64], fraction: float) -> int:
    """The time of the first event that the graph doesn't hold."""
    if not 0 < fraction < 1:
        raise UsageError(f"graph_fraction: must be between 0 and 1 (got {fraction}). Try 0.5.")
    if not len(times):
        raise DataError("links: the store must have events before as_of (got none). Give a later as_of.")
    place = min(int(len(times) * fraction + 1e-6), len(times) - 1)
    return int(np.partition(times, place)[place])


def links_in(store: Store, window: tuple[int, int], cut: int) -> LinkPart:
    """The pairs with an event in a window, for somebody who sees the graph as of a cut."""
    arrays = store.arrays
    edges = np.flatnonzero(arrays.edge_a != arrays.edge_b)
    _, place = store.as_of(window[0]).event_ranges(edges)
    here = np.flatnonzero(place < arrays.edge_offset[edges + 1])
    here = here[arrays.event_time[place[here]] < window[1]]
    here = here[np.argsort(arrays.event_time[place[here]], kind="stable")]
    edge, event = edges[here], place[here]
    a, b, reverse = arrays.edge_a[edge], arrays.edge_b[edge], arrays.event_reverse[event] == 1
    return LinkPart(
        np.where(reverse, b, a).astype(np.int64),
        np.where(reverse, a, b).astype(np.int64),
        edge,
        np.array(arrays.event_time[event]),
        np.asarray(arrays.edge_first_time[edge] < cut),
        window,
        cut,
    )


def _require_pairs(name: str, part: LinkPart, store: Store) -> None:
    if not len(part):
        raise DataError(
            f"links: the {name} part must hold at least one pair (got none from {store.date(part.window[0])} to "
            f"before {store.date(part.window[1])}). Change the fractions, or give an earlier graph_until."
        )
