"""A growing graph is the graph of the store that has all the events."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gtea.live.growing_graph import GrowingGraph, NewEvents
from gtea.live.growing_strings import GrowingStrings
from gtea.store.graph import graph_of, visible_events, visible_slots
from gtea.store.memory import store_in_memory
from gtea.store.store import Store

END = 1 << 60


def random_rows(generator: np.random.Generator, count: int, names: list[str]) -> list[Any]:
    picks = (len(names) * generator.random((count, 2)) ** 1.5).astype(int)
    times = generator.integers(0, 12, count)
    return [(names[a], names[b], int(t), float(i)) for i, ((a, b), t) in enumerate(zip(picks, times, strict=True))]


def store_of_rows(rows: list[Any], *, directed: bool) -> Store:
    src, dst, time, amount = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [], [])
    return store_in_memory(src, dst, time, features={"amount": amount}, directed=directed)


def everything(graph: Any, name_of: Any) -> dict[str, Any]:
    """Each account's slots in order, with the events of each."""
    seen = {}
    for node in range(len(graph.node_offset[: len(graph.node_stop)])):
        start, stop = visible_slots(graph, node)
        slots = []
        for slot in range(start, stop):
            edge = int(graph.slot_edge[slot])
            first, end = visible_events(graph, edge)
            events = [
                (int(graph.event_time[k]), int(graph.event_reverse[k]), float(graph.event_features[k, 0]))
                for k in range(first, end)
            ]
            ends = name_of(int(graph.edge_a[edge])), name_of(int(graph.edge_b[edge]))
            slots.append((name_of(int(graph.slot_neighbour[slot])), int(graph.slot_first_time[slot]), ends, events))
        seen[name_of(node)] = slots
    return seen


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_it_is_the_store_of_all_events(seed: int, directed: bool) -> None:
    generator = np.random.default_rng(seed)
    names = ["b", "d", "bb", "dd", "f", "h", "ff"] + ([f"n{i}" for i in range(40)] if seed % 2 else [])
    rows = random_rows(generator, int(generator.integers(0, 40)), names)
    stream = random_rows(generator, 1_500 if seed % 3 == 0 else 150, [*names, "a", "c", "cc", "e", "g", "zzz"])
    old, new = store_of_rows(rows, directed=directed), store_of_rows(rows + stream, directed=directed)
    accounts, growing = GrowingStrings(old.accounts), GrowingGraph(old.arrays, directed=directed)
    for first in range(0, len(stream), 37):
        some = stream[first : first + 37]
        src, dst = (np.array([accounts.add(row[k]) for row in some]) for k in (0, 1))
        growing.add_nodes(len(accounts))
        columns = np.array([row[2] for row in some]), np.array([[row[3]] for row in some], dtype=np.float32)
        growing.add(NewEvents(src, dst, *columns, np.zeros((len(some), 0), dtype=np.int32)), accounts.rank)
    assert everything(growing.graph(END), accounts.__getitem__) == everything(graph_of(new.as_of(END)), new.account)
    saved = GrowingGraph(old.arrays, growing.arrays(), directed=directed)
    assert everything(saved.graph(END), accounts.__getitem__) == everything(graph_of(new.as_of(END)), new.account)
    order = np.argsort(accounts.rank)
    assert [accounts[i] for i in order] == new.accounts.to_arrow().to_pylist()
