from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from tests.plain_events import CUT, Event, past_and_whole, plain_events

from gtea.features import node_blocks
from gtea.features.partner_statistics import PartnerStatistics, partner_statistic_names
from gtea.store.memory import store_in_memory
from gtea.store.store import Store
from gtea.store.view import View


def by_hand(view: View) -> list[dict[str, float]]:
    """Every node's partner statistics from a list of all events, the slow way."""
    events = [event for event in plain_events(view) if event.src != event.dst]
    features = view.store.features
    return [_row(events, features, node) for node in range(view.store.num_nodes)]


def _row(events: list[Event], features: Sequence[str], node: int) -> dict[str, float]:
    own = [event for event in events if node in (event.src, event.dst)]
    sides = {
        "out": [event for event in own if event.src == node],
        "in": [event for event in own if event.dst == node],
        "both": own,
    }
    row: dict[str, float] = {}
    for side, chosen in sides.items():
        partners = sorted({event.partner(node) for event in chosen})
        theirs = {partner: [event for event in events if partner in (event.src, event.dst)] for partner in partners}
        shared = {partner: [event for event in chosen if event.partner(node) == partner] for partner in partners}
        degrees = [len({event.partner(partner) for event in theirs[partner]}) for partner in partners]
        counts = [len(shared[partner]) for partner in partners]
        columns: dict[str, Any] = {
            "degree_mean": np.mean(np.log1p(degrees)) if partners else 0,
            "degree_max": max(degrees, default=0),
            "events_mean": np.mean([np.log1p(len(theirs[partner])) for partner in partners]) if partners else 0,
            "sent_mean": np.mean([np.mean([e.src == p for e in theirs[p]]) for p in partners]) if partners else 0,
            "top_share": max(counts) / sum(counts) if partners else 0,
            "concentration": sum((count / sum(counts)) ** 2 for count in counts),
        }
        for k, feature in enumerate(features):
            means = [np.mean([event.features[k] for event in theirs[partner]]) for partner in partners]
            sizes = [sum(abs(event.features[k]) for event in shared[partner]) for partner in partners]
            columns[f"{feature}_mean"] = np.mean(means) if partners else 0
            columns[f"{feature}_top_share"] = max(sizes) / sum(sizes) if sum(sizes) else 0
        row |= {f"partners_{side}_{name}": value for name, value in columns.items()}
    sent_to, got_from = {event.dst for event in sides["out"]}, {event.src for event in sides["in"]}
    row["partners_reciprocity"] = len(sent_to & got_from) / max(1, len(sent_to | got_from))
    row["partners_events_per_partner"] = len(own) / max(1, len(sent_to | got_from))
    return row


def rows_of(store: Store, cut: int | None = None) -> dict[str, dict[str, float]]:
    """The rows by account and column."""
    view = store.as_of(cut)
    names, rows = partner_statistic_names(store.features), PartnerStatistics(view).rows(np.arange(store.num_nodes))
    return {store.account(i): dict(zip(names, row, strict=True)) for i, row in enumerate(rows)}


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("cut", [0, 1, 50, 200])
def test_every_statistic_is_what_counting_gives(random_store: Callable[..., Store], directed: bool, cut: int) -> None:
    view = random_store(directed=directed).as_of(cut)
    names = partner_statistic_names(view.store.features)
    found = PartnerStatistics(view).rows(np.arange(view.store.num_nodes))
    assert found.shape == (view.store.num_nodes, len(names))
    assert found.any() == (cut > 0)
    for row, wanted in zip(found, by_hand(view), strict=True):
        assert set(wanted) == set(names)
        np.testing.assert_allclose(row, [wanted[name] for name in names], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("features", [{}, {"one": [1.0, -2.0, 4.0]}, {name: [1.0, 2.0, 0.0] for name in "abc"}])
def test_any_number_of_features(features: dict[str, list[float]]) -> None:
    view = store_in_memory(["a", "b", "c"], ["b", "c", "a"], range(3), features=features).as_of()  # type: ignore[arg-type]
    names, found = partner_statistic_names(view.store.features), PartnerStatistics(view).rows(np.arange(3))
    assert found.shape == (3, 3 * (6 + 2 * len(features)) + 2)
    for row, wanted in zip(found, by_hand(view), strict=True):
        np.testing.assert_allclose(row, [wanted[name] for name in names], rtol=1e-12)


@pytest.mark.parametrize("directed", [False, True])
def test_nobody_is_their_own_partner(directed: bool) -> None:
    plain = store_in_memory(["a", "b"], ["b", "c"], [1, 2], features={"x": [1, 2]}, directed=directed)
    loops = store_in_memory(
        ["a", "a", "b", "d"], ["b", "a", "c", "d"], [1, 1, 2, 2], features={"x": [1, 50, 2, 60]}, directed=directed
    )
    found = rows_of(loops)
    assert not any(found.pop("d").values())
    assert found == rows_of(plain)


@pytest.mark.parametrize("directed", [False, True])
def test_a_partner_with_both_directions_is_one_partner(directed: bool) -> None:
    found = rows_of(store_in_memory(["a", "b", "a", "a"], ["b", "a", "b", "c"], range(4), directed=directed))
    assert found["a"]["partners_reciprocity"] == 1 / 2
    assert found["a"]["partners_events_per_partner"] == 2
    assert [found["b"][f"partners_{side}_degree_max"] for side in ("out", "in", "both")] == [2, 2, 2]
    assert found["a"]["partners_both_degree_max"] == 1


def test_a_directed_store_has_the_statistics_of_an_undirected_one(random_store: Callable[..., Store]) -> None:
    one, other = (random_store(directed=directed) for directed in (False, True))
    rows = [PartnerStatistics(store.as_of(150)).rows(np.arange(store.num_nodes)) for store in (one, other)]
    np.testing.assert_allclose(rows[0], rows[1], rtol=1e-12)


@pytest.mark.parametrize("directed", [False, True])
def test_a_row_does_not_depend_on_the_others(random_store: Callable[..., Store], directed: bool) -> None:
    view = random_store(directed=directed).as_of(120)
    together = PartnerStatistics(view).rows(np.arange(view.store.num_nodes))
    shuffled, order = PartnerStatistics(view), np.random.default_rng(0).permutation(view.store.num_nodes)
    assert shuffled.rows(order).tobytes() == together[order].tobytes()
    for node in range(view.store.num_nodes):
        assert PartnerStatistics(view).rows(np.array([node, node]))[1].tobytes() == together[node].tobytes()
        assert shuffled.rows(np.array([node])).tobytes() == together[node].tobytes()
    assert PartnerStatistics(view).rows(np.array([], dtype=np.int64)).shape == (0, together.shape[1])


@pytest.mark.parametrize("directed", [False, True])
def test_events_from_the_cut_on_change_nothing(directed: bool) -> None:
    past, whole, nodes = past_and_whole(directed)
    wanted = PartnerStatistics(past.as_of(CUT)).rows(np.arange(past.num_nodes))
    assert PartnerStatistics(whole.as_of(CUT)).rows(nodes).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("directed", [False, True])
def test_a_hub_of_a_hundred_thousand_neighbours(directed: bool) -> None:
    count = 100_000
    leaves = [f"{i:06}" for i in range(count)]
    store = store_in_memory(["hub"] * count + leaves[:10], leaves + ["hub"] * 10, range(count + 10), directed=directed)
    names = partner_statistic_names([])
    statistics = PartnerStatistics(store.as_of())
    rows = statistics.rows(np.array([store.node("hub"), store.node("000003"), store.node("000010")]))
    hub, mutual, leaf = (dict(zip(names, row, strict=True)) for row in rows)
    assert hub["partners_both_degree_max"] == 1
    assert hub["partners_reciprocity"] == 10 / count
    assert hub["partners_both_top_share"] == 2 / (count + 10)
    assert hub["partners_out_concentration"] == pytest.approx(1 / count)
    assert mutual["partners_reciprocity"] == 1
    assert leaf["partners_in_degree_max"] == count
    assert leaf["partners_in_events_mean"] == np.log1p(count + 10)
    assert leaf["partners_in_sent_mean"] == count / (count + 10)


@pytest.mark.parametrize("directed", [False, True])
def test_many_threads_get_the_bytes_of_one(random_store: Callable[..., Store], directed: bool) -> None:
    view = random_store(num_events=20_000, num_accounts=3_000, directed=directed).as_of(150)
    wanted = PartnerStatistics(view).rows(np.arange(view.store.num_nodes))
    rng = np.random.default_rng(0)
    asked = [rng.integers(0, view.store.num_nodes, size) for size in np.tile([1, 50, 2_000], 20)]
    for _ in range(3):
        shared = PartnerStatistics(view)
        with ThreadPoolExecutor(16) as pool:
            for nodes, rows in zip(asked, pool.map(shared.rows, asked), strict=True):
                assert rows.tobytes() == wanted[nodes].tobytes()


@pytest.mark.parametrize("directed", [False, True])
def test_the_number_of_threads_changes_no_byte(
    random_store: Callable[..., Store], directed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = random_store(num_events=5_000, num_accounts=700, directed=directed).as_of(150)
    wanted = PartnerStatistics(view).rows(np.arange(view.store.num_nodes))
    monkeypatch.setattr(node_blocks, "_BLOCK", 37)
    monkeypatch.setattr(node_blocks, "_MANY", 74)
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        assert PartnerStatistics(view).rows(np.arange(view.store.num_nodes)).tobytes() == wanted.tobytes()
