"""Link prediction splits: the pairs that have an event after the graph was cut off.

Events before ``graph_until`` are the graph. Later events are split by time into windows for training, validation and
test. A pair is a positive of every window in which it has an event, whether or not it already has a history: predicting
a repeated event counts as much as predicting a first one. Negatives are drawn in ``sampling/negatives.py``.

Cuts are times, not positions. As everywhere in gtea, an event at exactly a cut belongs to the part after it. If many
events share the time of a cut, the part before it is slightly smaller than its fraction.
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
"""Which graph each window sees: as of its own start (temporal), or as of the start of the first window (paper)."""


GRAPH_FRACTION = 0.5
"""The share of the events that make up the graph if ``graph_until`` is not given."""


@dataclass(frozen=True)
class LinkPart:
    """The distinct pairs with an event in a window, in the order of their first events in the window."""

    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    """The sender (``src``) and the receiver (``dst``) of that first event."""
    edge: NDArray[np.int64]
    time: NDArray[np.int64]
    """The time of that first event."""
    seen: NDArray[np.bool_]
    """Whether the pair already has a history in the graph of this part."""
    window: tuple[int, int]
    """Start (inclusive) and end (exclusive), as stored times."""
    as_of: int
    """The cut of this part, as a stored time: models see only events before it."""
    without_negative: int = 0
    """How many pairs were left out because their source has events with every receiver, so no negative can be drawn."""

    def __len__(self) -> int:
        return len(self.src)

    def keep(self, kept: NDArray[np.bool_]) -> LinkPart:
        """Keep the pairs that have a negative, and count the others in ``without_negative``."""
        left_out = self.without_negative + int((~kept).sum())
        ends = self.src[kept], self.dst[kept]
        return LinkPart(*ends, self.edge[kept], self.time[kept], self.seen[kept], self.window, self.as_of, left_out)


@dataclass(frozen=True)
class LinkSplit:
    """The graph and the three windows after it."""

    protocol: LinkProtocol
    graph_until: int
    graph_pairs: int
    """The number of pairs with an event before ``graph_until``. The paper counts each pair twice."""
    train: LinkPart
    validation: LinkPart
    test: LinkPart
    unit: str
    """The unit of the stored times."""
    train_parts: tuple[LinkPart, ...]
    """The training examples: the training window, or the shorter windows it is cut into, each as of its own start."""

    @property
    def parts(self) -> dict[str, LinkPart]:
        """The parts by name: train, validation, test."""
        return {"train": self.train, "validation": self.validation, "test": self.test}

    def describe(self) -> dict[str, Any]:
        """Return the sizes and time windows of the parts as JSON values."""
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
    """Split the positives of a link task by time.

    Args:
        store: The store to take the events from.
        graph_until: The cut between the graph and the first window. Defaults to the end of the first
            ``graph_fraction`` of the events.
        graph_fraction: The share of the events that make up the graph if ``graph_until`` is not given.
        fractions: The shares of the remaining events in the train, validation and test windows.
        protocol: Which graph each window sees: as of its own start ("temporal"), or as of ``graph_until`` ("paper").
        train_windows: Temporal protocol only: the number of windows, with equally many events each, that the train
            window is cut into. Windows that are empty because events share a time are dropped.
        as_of: Events at or after this time are ignored. Defaults to just after the last event.
    """
    check_fractions(fractions)
    if protocol not in ("temporal", "paper"):
        raise UsageError(f"protocol: must be 'temporal' or 'paper' (got {protocol!r}). Try 'temporal'.")
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
    train, validation, test = (links_in_window(store, window, cut) for window, cut in zip(windows, cuts, strict=True))
    for name, part in (("train", train), ("validation", validation), ("test", test)):
        _require_pairs(name, part, store)
    arrays = store.arrays
    graph_pairs = int(((arrays.edge_first_time < start) & (arrays.edge_a != arrays.edge_b)).sum())
    train_parts = (train,) if protocol == "paper" else _training_parts(store, after, (start, first), train_windows)
    return LinkSplit(protocol, start, graph_pairs, train, validation, test, store.unit, train_parts)


def _training_parts(
    store: Store, times: NDArray[np.int64], window: tuple[int, int], count: int
) -> tuple[LinkPart, ...]:
    """Cut the train window into shorter ones. Each sees the events up to its own start, unlike one long window."""
    inside = times[: np.searchsorted(times, window[1])]
    count = min(count, len(inside))
    starts = np.unique(inside[np.arange(count) * len(inside) // count])
    return tuple(
        links_in_window(store, within, within[0]) for within in itertools.pairwise([*map(int, starts), window[1]])
    )


def with_negatives(store: Store, split: LinkSplit) -> LinkSplit:
    """Drop and count the pairs for which no negative can be drawn. Raise if a part has no pairs left."""
    parts = {}
    for name, part in split.parts.items():
        parts[name] = part.keep(NegativeSampler(store.as_of(part.as_of)).has_negatives(part.src))
        if not len(parts[name]):
            raise DataError(
                f"links: the {name} part must hold a pair whose source does not have events with every account that "
                f"receives any before {store.date(part.as_of)} (got none among {len(part):,}). "
                "Add accounts, or give an earlier graph_until."
            )
    train_parts = (
        part.keep(NegativeSampler(store.as_of(part.as_of)).has_negatives(part.src)) for part in split.train_parts
    )
    return replace(
        split,
        train=parts["train"],
        validation=parts["validation"],
        test=parts["test"],
        # By the start of a later window, a source may have had events with every receiver.
        train_parts=tuple(part for part in train_parts if len(part)) or (parts["train"],),
    )


def _event_times(store: Store, end: int) -> NDArray[np.int64]:
    """Return the times of all events before ``end``, without self-loops: an event with oneself is not a link."""
    arrays = store.arrays
    between = arrays.event_time < end
    loops = arrays.edge_a == arrays.edge_b
    if loops.any():
        between &= ~np.repeat(loops, np.diff(arrays.edge_offset))
    return np.asarray(arrays.event_time[between])


def _graph_end(times: NDArray[np.int64], fraction: float) -> int:
    """Return the time of the first event after the graph."""
    if not 0 < fraction < 1:
        raise UsageError(f"graph_fraction: must be between 0 and 1 (got {fraction}). Try 0.5.")
    if not len(times):
        raise DataError("links: the store must have events before as_of (got none). Give a later as_of.")
    place = min(int(len(times) * fraction + 1e-6), len(times) - 1)
    return int(np.partition(times, place)[place])


def links_in_window(store: Store, window: tuple[int, int], cut: int) -> LinkPart:
    """Return the pairs with an event in a window, for models that see the graph as of ``cut``."""
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
