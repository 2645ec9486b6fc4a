"""New events by account, against loops over every event."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

import numpy as np
import pytest

from gtea.errors import DataError
from gtea.scoring.new_events import EventsSince, count_events
from gtea.store.store import Store
from gtea.store.view import View


def events_of(store: Store) -> list[tuple[int, int, int]]:
    """Ends and time of every event."""
    arrays = store.arrays
    return [
        (int(arrays.edge_a[edge]), int(arrays.edge_b[edge]), int(arrays.event_time[row]))
        for edge in range(store.num_edges)
        for row in range(int(arrays.edge_offset[edge]), int(arrays.edge_offset[edge + 1]))
    ]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("since", "cut"), [(100, 150), (0, 150), (150, 150), (149, 400), (180, 400)])
def test_new_events_are_those_of_a_loop(
    make_store: Callable[..., Store], seed: int, directed: bool, since: int, cut: int
) -> None:
    store = make_store(seed, directed=directed)
    found = EventsSince(store.as_of(cut), since)
    counts: Counter[int] = Counter()
    dealings: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    before: Counter[int] = Counter()
    met = set()
    for a, b, time in events_of(store):
        for node, other in {(a, b), (b, a)}:
            before[node] += time < cut
            if time < cut:
                met.add((node, other))
            if since <= time < cut:
                counts[node] += 1
                dealings[node][other].append(time)
    nodes = range(store.num_nodes)
    assert count_events(store.as_of(cut), np.array(nodes)).tolist() == [before[node] for node in nodes]
    some = np.array(nodes)[::-3]
    assert count_events(store.as_of(cut), some).tolist() == [before[node] for node in some]
    assert found.counts.tolist() == [counts[node] for node in nodes]
    assert found.num_counterparties.tolist() == [len(dealings[node]) for node in nodes]
    for node in nodes:
        wanted = sorted((-len(times), other, min(times), max(times)) for other, times in dealings[node].items())
        if not directed:
            assert [(-d.events, d.node, d.first, d.last) for d in found.dealings(node)] == wanted
        assert {d.node: d.events for d in found.dealings(node)} == {o: len(t) for o, t in dealings[node].items()}
    has_new = np.array([counts[node] > 0 for node in nodes])
    assert found.near(has_new).tolist() == [any(has_new[other] for one, other in met if one == node) for node in nodes]


def test_late_events_are_found_by_counting(make_store: Callable[..., Store]) -> None:
    store = make_store()
    before = count_events(store.as_of(100), np.arange(store.num_nodes))
    found = EventsSince(store.as_of(150), 100)
    assert not found.late(before, "x.parquet").any()
    fewer = before.copy()
    fewer[np.flatnonzero(before)[:2]] -= 1
    assert found.late(fewer, "x.parquet").sum() == 2
    with pytest.raises(DataError, match=r"^x.parquet: must come from an earlier state of this store"):
        found.late(before + 1, "x.parquet")


def test_nothing_at_or_after_the_cut_is_seen(make_store: Callable[..., Store]) -> None:
    store = make_store()
    early = View(store, 120)
    found = EventsSince(early, 100)
    assert max(dealing.last for node in range(store.num_nodes) for dealing in found.dealings(node)) < 120
    assert not EventsSince(early, 120).counts.any()
    assert not EventsSince(early, 150).counts.any()
