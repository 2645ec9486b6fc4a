from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gtea.features import node_blocks
from gtea.features.account_statistics import statistic_names, statistics
from gtea.store.memory import store_in_memory
from gtea.store.store import Store
from gtea.store.view import View


def by_hand(view: View, node: int) -> dict[str, Any]:
    """One node's statistics from its histories, the slow way."""
    events = []
    for edge in view.neighbours(node).edges:
        a, b = int(view.arrays.edge_a[edge]), int(view.arrays.edge_b[edge])
        history = view.history_of(int(edge), node)
        for time, sent, features in zip(history.time, history.sent, history.features, strict=True):
            events.append((int(time), bool(sent), a == b, b if a == node else a, features.astype(float)))
    sides = {
        "out": [event for event in events if event[1] or event[2]],
        "in": [event for event in events if not event[1] or event[2]],
        "both": events,
    }
    row = {}
    for side, own in sides.items():
        times = sorted(event[0] for event in own)
        gaps = np.diff(times)
        row[f"{side}_count"] = len(own)
        row[f"{side}_partners"] = len({event[3] for event in own})
        row[f"{side}_since_first"] = view.cut - times[0] if own else 0
        row[f"{side}_since_last"] = view.cut - times[-1] if own else 0
        row[f"{side}_span"] = times[-1] - times[0] if own else 0
        for name in ("mean", "std", "min", "max"):
            row[f"{side}_gap_{name}"] = getattr(gaps, name)() if len(gaps) else 0
        for i, feature in enumerate(view.store.features):
            values = np.array([event[4][i] for event in own])
            for name in ("sum", "mean", "std", "min", "max"):
                row[f"{side}_{feature}_{name}"] = getattr(values, name)() if own else 0
    for feature in view.store.features:
        came, went = row[f"in_{feature}_sum"], row[f"out_{feature}_sum"]
        most = max(abs(came), abs(went))
        row[f"net_{feature}"] = came - went
        row[f"left_{feature}"] = np.log10(np.clip(abs(came - went) / most, 1e-6, 1)) if most else 0
    return row


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("cut", [0, 1, 50, 200])
def test_every_statistic_is_what_counting_gives(random_store: Callable[..., Store], directed: bool, cut: int) -> None:
    view = random_store(directed=directed).as_of(cut)
    names = statistic_names(view.store.features)
    found = statistics(view, np.arange(view.store.num_nodes))
    assert found.shape == (view.store.num_nodes, len(names))
    for node in range(view.store.num_nodes):
        wanted = by_hand(view, node)
        assert set(wanted) == set(names)
        np.testing.assert_allclose(found[node], [wanted[name] for name in names], rtol=1e-9, atol=1e-9)


def test_a_row_does_not_depend_on_the_others(random_store: Callable[..., Store]) -> None:
    view = random_store().as_of(120)
    together = statistics(view, np.arange(view.store.num_nodes))
    for node in (0, 3, 17):
        assert statistics(view, np.array([node])).tobytes() == together[node].tobytes()


@pytest.mark.parametrize("directed", [False, True])
def test_accounts_with_more_events_than_fit_into_the_first_buffer(
    random_store: Callable[..., Store], directed: bool
) -> None:
    view = random_store(num_events=9_000, directed=directed).as_of(150)
    names = statistic_names(view.store.features)
    nodes = np.array([view.store.node(f"account-{i}") for i in (9, 0, 1)])
    wanted = [by_hand(view, node) for node in nodes]
    assert max(own["both_count"] for own in wanted) > 1_024
    for row, own in zip(statistics(view, nodes), wanted, strict=True):
        np.testing.assert_allclose(row, [own[name] for name in names], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("directed", [False, True])
def test_the_number_of_threads_changes_no_byte(
    random_store: Callable[..., Store], directed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = random_store(num_events=5_000, num_accounts=700, directed=directed).as_of(150)
    wanted = statistics(view, np.arange(view.store.num_nodes))
    monkeypatch.setattr(node_blocks, "_BLOCK", 37)
    monkeypatch.setattr(node_blocks, "_MANY", 74)
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        assert statistics(view, np.arange(view.store.num_nodes)).tobytes() == wanted.tobytes()


def test_deviations_of_large_amounts_do_not_cancel() -> None:
    amounts = np.array([16_777_216, 16_777_218, 16_777_216], np.float32)
    store = store_in_memory(["a"] * 3, ["b"] * 3, range(3), features={"amount": amounts})
    row = dict(zip(statistic_names(["amount"]), statistics(store.as_of(), np.array([0]))[0], strict=True))
    assert row["out_amount_std"] == pytest.approx(np.std(amounts.astype(float)), rel=1e-8)


def test_what_stayed_is_told_where_sums_hardly_differ() -> None:
    kept = store_in_memory(["a", "b"], ["b", "c"], range(2), features={"amount": np.array([1500, 1499.85], np.float32)})
    names = statistic_names(["amount"])
    rows = [dict(zip(names, row, strict=True)) for row in statistics(kept.as_of(), np.arange(3))]
    assert [row["net_amount"] for row in rows] == pytest.approx([-1500, 0.15, 1499.85], abs=1e-3)
    assert [row["left_amount"] for row in rows] == pytest.approx([0, -4, 0], abs=1e-3)


def test_times_are_in_seconds_whatever_the_store_counts() -> None:
    coarse = store_in_memory(["a", "a"], ["b", "b"], [10, 70])
    fine = store_in_memory(["a", "a"], ["b", "b"], [10 * 10**6, 70 * 10**6], unit="us")
    first, second = statistics(coarse.as_of(100), np.arange(2)), statistics(fine.as_of(100 * 10**6), np.arange(2))
    assert first.tobytes() == second.tobytes()


def test_no_features() -> None:
    store = store_in_memory(["a"], ["b"], [1])
    assert statistics(store.as_of(), np.arange(2)).shape == (2, 27)
