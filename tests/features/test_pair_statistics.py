"""Statistics of pairs, against a look at every event."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gtea.features.pair_statistics import PAIR_STATISTICS, PairStatistics, time_since_last_event
from gtea.store.graph import graph_of
from gtea.store.memory import store_in_memory

UNIT = 10.0
CUT = 150


def rows_of(seed: int = 0, num_events: int = 300) -> list[tuple[str, str, int]]:
    chance = np.random.default_rng(seed)
    src, dst = (chance.integers(0, 14, num_events) ** 2 // 10 for _ in range(2))
    return [
        (f"n{a:02}", f"n{b:02}", int(t))
        for a, b, t in zip(src, dst, chance.integers(0, 200, num_events), strict=True)
        if a != b
    ]


def naive(rows: list[tuple[str, str, int]], u: str, v: str) -> dict[str, float]:
    seen = [(a, b, t) for a, b, t in rows if t < CUT]
    partners = {
        n: {b if a == n else a for a, b, _ in seen if n in (a, b)} for n in {x for row in seen for x in row[:2]}
    }
    figures: dict[str, float] = {}
    for side, times in (
        ("src", [t for a, b, t in seen if u in (a, b)]),
        ("dst", [t for a, b, t in seen if v in (a, b)]),
        ("pair", [t for a, b, t in seen if {a, b} == {u, v}]),
    ):
        figures[f"{side}_count"] = len(times)
        figures[f"{side}_since_first"] = (CUT - min(times)) / UNIT if times else math.nan
        figures[f"{side}_since_last"] = (CUT - max(times)) / UNIT if times else math.nan
        for window in (1, 3, 7):
            figures[f"{side}_last_{window}"] = sum(t >= CUT - window * UNIT for t in times)
    figures["src_partners"], figures["dst_partners"] = (len(partners.get(n, ())) for n in (u, v))

    def met(a: str, b: str) -> list[int]:
        return [t for c, d, t in seen if {a, b} == {c, d}]

    for side, n in (("src", u), ("dst", v)):
        first = [min(met(n, other)) for other in partners.get(n, ())]
        for window in (1, 3, 7):
            figures[f"{side}_new_{window}"] = sum(t >= CUT - window * UNIT for t in first)
    together = [t for a, b, t in seen if {a, b} == {u, v}]
    since = sum(t > max(together) for a, b, t in seen if u in (a, b)) if together else math.nan
    figures["src_events_since_pair"] = since
    middle = [w for w in partners.get(v, ()) if w not in (u, v)]
    figures["paths_of_2"] = sum(w in partners.get(u, ()) for w in middle)
    paths = [(x, w) for w in middle for x in partners[w] if x in partners.get(u, ()) and x not in (u, v)]
    figures["paths_of_3"] = len(paths)
    figures["walks_of_3"] = sum(1 / len(partners[w]) / len(middle) for _, w in paths)
    took = {(x, w): (min(met(w, v)) - min(met(w, x))) / UNIT for x, w in paths}
    figures["paths_of_3_at_once"] = sum(math.exp(-abs(gap)) for gap in took.values())
    latest = max((t for a, b, t in seen if u in (a, b)), default=0)
    figures["paths_of_3_onward"] = sum(
        math.exp(-gap) * math.exp((max(met(u, x)) - latest) / UNIT) / len(middle)
        for (x, _), gap in took.items()
        if gap >= 0
    )
    return figures


@pytest.mark.parametrize("directed", [False, True])
def test_every_column(directed: bool) -> None:
    rows = rows_of()
    if directed:  # one direction a pair: a pair that pays both ways has two slots, which count as two partners
        rows = [(min(a, b), max(a, b), t) for a, b, t in rows]
    src, dst, times = zip(*rows, strict=True)
    store = store_in_memory(src, dst, times, unit="step", directed=directed)
    names = list(store.accounts.to_arrow().to_pylist())
    pairs = [(u, v) for u in names for v in names if u != v]
    ends = (np.array([store.node(pair[side]) for pair in pairs]) for side in (0, 1))
    made = PairStatistics(graph_of(store.as_of(CUT)), UNIT).rows(*ends)
    assert len(PAIR_STATISTICS) == 32
    for pair, row in zip(pairs, made, strict=True):
        expected = naive(rows, *pair)
        assert dict(zip(PAIR_STATISTICS, row, strict=True)) == pytest.approx(expected, nan_ok=True), pair


def test_both_directions_of_a_directed_store_are_one_pair() -> None:
    store = store_in_memory(["a", "b", "a"], ["b", "a", "b"], [5, 90, 20], unit="step", directed=True)
    a, b = np.array([store.node("a")]), np.array([store.node("b")])
    view = store.as_of(100)
    for src, dst in ((a, b), (b, a)):
        row = dict(zip(PAIR_STATISTICS, PairStatistics(graph_of(view), 1.0).rows(src, dst)[0], strict=True))
        assert (row["pair_count"], row["pair_since_first"], row["pair_since_last"]) == (3, 95, 10)
        assert time_since_last_event(view, src, dst, 1.0).tolist() == [10]


def test_how_long_ago_two_met() -> None:
    store = store_in_memory(["a", "a", "c"], ["b", "b", "d"], [5, 90, 20], unit="step")
    nodes = {name: store.node(name) for name in "abcd"}
    src, dst = (np.array([nodes[name] for name in names]) for names in ("abacd", "babdc"))
    assert time_since_last_event(store.as_of(50), src, dst, 10.0).tolist() == [4.5, 4.5, 4.5, 3.0, 3.0]
    assert time_since_last_event(store.as_of(95), src, dst, 1.0).tolist() == [5, 5, 5, 75, 75]
    assert time_since_last_event(store.as_of(5), src, dst, 1.0).tolist() == [np.inf] * 5
    assert time_since_last_event(store.as_of(95), src[:1], src[:1], 1.0).tolist() == [np.inf]


def test_of_a_hub_only_the_last_acquaintances_are_looked_at() -> None:
    hubs = ["hub-1"] * 150 + ["hub-2"] * 150
    others = [f"n{i:03}" for i in range(150)] * 2
    store = store_in_memory(hubs, others, [*range(150), *range(150)], unit="step")
    ends = (np.array([store.node(name)]) for name in ("hub-1", "hub-2"))
    row = dict(zip(PAIR_STATISTICS, PairStatistics(graph_of(store.as_of()), 1.0).rows(*ends)[0], strict=True))
    assert row["src_partners"] == 150
    assert row["paths_of_2"] == 100
