"""What must hold for every table of events, tried on many."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pyarrow as pa

from gtea.ingestion.append import append
from gtea.ingestion.ingest import ingest
from gtea.store.store import Store
from gtea.store.verify import verify

Make = Callable[..., Store]

IDS = st.sampled_from(["a", "b", "c", "0", "00", "é", "zz"])
ROWS = st.lists(st.tuples(IDS, IDS, st.integers(-4, 6), st.sampled_from([0.0, 1.5, -2.0])), max_size=25)
few = hypothesis.settings(max_examples=40)


def visible(store: Store, cut: int) -> dict[Any, Any]:
    """Everything that can be seen through account ids: each pair's events, ties in any order."""
    names = store.accounts.to_arrow().to_pylist()
    view = store.as_of(cut)
    seen: dict[Any, Any] = {}
    for u in names:
        found = view.neighbours(u)
        for v, edge, first in zip(found.nodes, found.edges, found.first_time, strict=True):
            history = view.history_of(int(edge), u)
            events = zip(history.time.tolist(), history.sent.tolist(), history.features[:, 0].tolist(), strict=True)
            seen[u, store.account(int(v)), int(first)] = sorted(events)
    return seen


@few
@hypothesis.given(ROWS, st.randoms(use_true_random=False), st.booleans())
def test_the_order_of_rows_changes_nothing(
    store_of: Make, rows: list[Any], shuffler: random.Random, directed: bool
) -> None:
    shuffled = list(rows)
    shuffler.shuffle(shuffled)
    one, other = store_of(rows, directed=directed), store_of(shuffled, directed=directed)
    assert visible(one, 99) == visible(other, 99)
    assert one.accounts.to_arrow().to_pylist() == other.accounts.to_arrow().to_pylist()
    assert one.report == other.report
    if len({(frozenset((s, d)), t) for s, d, t, _ in rows}) == len(rows):  # no ties: the very same bytes
        assert one.digest == other.digest


@few
@hypothesis.given(ROWS, ROWS, st.integers(-5, 7))
def test_the_future_can_not_be_seen(store_of: Make, rows: list[Any], future: list[Any], cut: int) -> None:
    """Change, add and delete everything at or after the cut: a view as of the cut shows the same."""
    past = [row for row in rows if row[2] < cut]
    later = [(s, d, abs(t) + cut, a) for s, d, t, a in future]
    assert visible(store_of(rows), cut) == visible(store_of(past + later), cut) == visible(store_of(past), 99)


@few
@hypothesis.given(ROWS, ROWS, ROWS, st.booleans(), st.sampled_from(["drop", "keep"]))
def test_append_equals_ingest_at_once(
    store_of: Make, helpers: Any, first: list[Any], second: list[Any], third: list[Any], directed: bool, loops: str
) -> None:
    options = {"directed": directed, "self_loops": loops}
    store = store_of(first, **options)
    for delivery in (second, third):
        store = append(store.path, helpers.rows_table(delivery), on_duplicate="keep")
    at_once = store_of([*first, *second, *third], **options)
    assert helpers.array_bytes(store) == helpers.array_bytes(at_once)
    assert store.report == at_once.report
    assert verify(store.path, lambda stage, done: None) == []


@few
@hypothesis.given(ROWS)
def test_delivering_everything_twice_and_dropping_changes_nothing(
    store_of: Make, helpers: Any, rows: list[Any]
) -> None:
    store = store_of(rows)
    again = append(store.path, helpers.rows_table(rows), on_duplicate="drop")
    assert helpers.array_bytes(again) == helpers.array_bytes(store)


@few
@hypothesis.given(ROWS)
def test_duplicates_are_counted_like_a_counter_would(store_of: Make, rows: list[Any]) -> None:
    kept = [row for row in rows if row[0] != row[1]]
    assert store_of(rows).report["duplicates"] == len(kept) - len(set(kept))


def test_a_hub_costs_no_more_to_look_at_than_its_slice(tmp_path: Path) -> None:
    n = 1_000_000
    names = np.char.add("n", np.arange(n).astype(str))
    table = pa.table({"s": pa.array(["hub"] * n), "d": pa.array(names), "t": pa.array(np.arange(n))})
    store = ingest(table, src="s", dst="d", time="t", time_unit="step", out=tmp_path / "s")
    store = Store.open(store.path)

    def cost(account: str, cut: int) -> float:
        """The best of many looks: noise only ever adds."""
        best = 1.0
        for _ in range(50):
            view, start = store.as_of(cut), time.perf_counter()
            found = view.neighbours(account)
            first = found.nodes[:10].sum(), view.degree(account), len(view.history("hub", "n7"))
            best = min(best, time.perf_counter() - start)
            assert len(first) == 3
        return best

    assert store.as_of(n // 2).degree("hub") == n // 2
    hub, leaf = cost("hub", n // 2), cost("n9", n // 2)
    assert hub < leaf + 0.005
    found = store.as_of().neighbours("hub")
    assert found.nodes.base is not None  # a slice of the mapped file, nothing copied
    assert not found.nodes.flags.owndata
