from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from tests.plain_events import CUT, Event, past_and_whole, plain_events

from gtea.features import node_blocks
from gtea.features.rhythm_statistics import rhythm_statistic_names, rhythm_statistics
from gtea.store.memory import store_in_memory
from gtea.store.store import Store
from gtea.store.view import View

SECONDS = {"s": 1.0, "us": 1e-6, "ns": 1e-9, "step": 1.0}


def by_hand(view: View) -> list[dict[str, float]]:
    """Every node's rhythm statistics from a list of all events, the slow way."""
    store, events = view.store, plain_events(view)
    return [
        _row([event for event in events if node in (event.src, event.dst)], node, store.features, store.unit)
        for node in range(store.num_nodes)
    ]


def _row(own: list[Event], node: int, features: Sequence[str], unit: str) -> dict[str, float]:
    own = sorted(own, key=lambda event: (event.time, event.edge_order))
    sides = {
        "out": [event for event in own if event.src == node],
        "in": [event for event in own if event.dst == node],
        "both": own,
    }
    row: dict[str, float] = {}
    for side, chosen in sides.items():
        row |= {f"rhythm_{side}_{name}": value for name, value in _side(chosen, features, unit).items()}
    return row | {f"rhythm_{name}": value for name, value in _summary(own, node, features, unit).items()}


def _side(chosen: list[Event], features: Sequence[str], unit: str) -> dict[str, float]:
    """The columns of the events of one side."""
    names = ["rate", "burstiness", "busiest", "trend", *(f"{feature}_rate" for feature in features)]
    if not chosen:
        return dict.fromkeys(names, 0)
    times = [event.time for event in chosen]
    start, span = times[0], times[-1] - times[0]
    if span == 0:
        return dict.fromkeys(names, 0) | {"busiest": 1, "trend": 0.5}
    days = span if unit == "step" else span * SECONDS[unit] / 86_400
    gaps = np.diff(times)
    return {
        "rate": len(gaps) / days,
        "burstiness": (gaps.std() - gaps.mean()) / (gaps.std() + gaps.mean()),
        "busiest": max(sum(10 * abs(t - begin) <= span for t in times if t >= begin) for begin in times) / len(times),
        "trend": np.mean([(t - start) / span for t in times]),
        **{f"{name}_rate": sum(event.features[k] for event in chosen) / days for k, name in enumerate(features)},
    }


def _summary(own: list[Event], node: int, features: Sequence[str], unit: str) -> dict[str, float]:
    """The columns of the account as a whole, given its events in order."""
    directions = [(event.src == node, event.dst == node) for event in own]
    changes = [one != other for one, other in itertools.pairwise(directions)]
    held = [
        (event, [earlier for earlier in own[:i] if earlier.dst == node][-1])
        for i, event in enumerate(own)
        if event.src == node and any(earlier.dst == node for earlier in own[:i])
    ]
    waits = [(sent.time - got.time) * SECONDS[unit] for sent, got in held]
    angles = [] if unit == "step" else [2 * math.pi * event.time * SECONDS[unit] / 86_400 for event in own]
    row: dict[str, Any] = {
        "hold_mean": np.mean(np.log1p(waits)) if held else -1,
        "hold_min": min(waits) if held else -1,
        "alternation": np.mean(changes) if changes else 0,
        "day_cos": np.mean(np.cos(angles)) if angles else 0,
        "day_sin": np.mean(np.sin(angles)) if angles else 0,
    }
    for k, name in enumerate(features):
        distances = [_log_distance(abs(sent.features[k]), abs(got.features[k])) for sent, got in held]
        row[f"{name}_passed"] = np.mean(distances) if held else -1
    return row if own else dict.fromkeys(row, 0)


def _log_distance(one: float, other: float) -> float:
    if one == 0 or other == 0:
        return 0 if one == other else math.log(1000)
    return min(abs(math.log(one) - math.log(other)), math.log(1000))


def check(view: View) -> None:
    """Compare all rows with those by hand."""
    names = rhythm_statistic_names(view.store.features)
    found = rhythm_statistics(view, np.arange(view.store.num_nodes))
    assert found.shape == (view.store.num_nodes, len(names))
    for row, wanted in zip(found, by_hand(view), strict=True):
        assert set(wanted) == set(names)
        np.testing.assert_allclose(row, [wanted[name] for name in names], rtol=1e-9, atol=1e-9)


def named(store: Store, account: str) -> dict[str, float]:
    """One account's row as of the end."""
    row = rhythm_statistics(store.as_of(), np.array([store.node(account)]))[0]
    return dict(zip(rhythm_statistic_names(store.features), row, strict=True))


def months_of_events(unit: str, directed: bool, seed: int = 0) -> Store:
    """A few accounts with bursts over three months, sizes of zero and over many magnitudes, and accounts with loops."""
    rng = np.random.default_rng(seed)
    count = 300
    src, dst = ([f"{i:02}" for i in rng.integers(0, high, count)] for high in (4, 25))
    seconds = 1_600_000_000 + np.round(rng.random(count) ** 3 * 90 * 86_400).astype(np.int64)
    size = rng.lognormal(0, 3, count) * rng.choice([0, 1, -1], count)
    time = seconds * round(1 / SECONDS[unit])
    return store_in_memory(src, dst, time, features={"size": size, "one": np.ones(count)}, unit=unit, directed=directed)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("cut", [0, 1, 50, 200])
def test_every_statistic_is_what_counting_gives(random_store: Callable[..., Store], directed: bool, cut: int) -> None:
    check(random_store(directed=directed).as_of(cut))
    check(random_store(directed=directed, unit="step").as_of(cut))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("unit", ["s", "us", "ns", "step"])
def test_months_of_events(unit: str, directed: bool) -> None:
    store = months_of_events(unit, directed)
    check(store.as_of())
    assert max(np.bincount(store.arrays.edge_a)) > 24  # some have too many events for insertion sort


@pytest.mark.parametrize("features", [{}, {"one": [1.0, -2.0, 0.0]}, {name: [1.0, 2.0, 3.0] for name in "abc"}])
def test_any_number_of_features(features: dict[str, list[float]]) -> None:
    view = store_in_memory(["a", "b", "a"], ["b", "a", "c"], [5, 9, 30], features=features).as_of()  # type: ignore[arg-type]
    assert rhythm_statistics(view, np.arange(3)).shape == (3, 3 * (4 + len(features)) + 5 + len(features))
    check(view)


@pytest.mark.parametrize("directed", [False, True])
def test_an_event_to_oneself_is_sent_and_received(directed: bool) -> None:
    store = store_in_memory(
        ["a", "a", "b"], ["a", "b", "a"], [10, 40, 60], features={"x": [2, 2, 8]}, directed=directed
    )
    row = named(store, "a")
    assert row["rhythm_hold_min"] == 30
    assert row["rhythm_alternation"] == 1
    assert row["rhythm_x_passed"] == 0
    assert (row["rhythm_out_rate"], row["rhythm_in_rate"]) == (86_400 / 30, 86_400 / 50)
    check(store.as_of())


def test_a_clock_has_no_bursts_and_one_burst_has_many() -> None:
    clock = store_in_memory(["a"] * 101, ["b"] * 101, np.arange(101) * 3_600)
    burst = store_in_memory(["a"] * 101, ["b"] * 101, np.append(np.arange(100), 10**6))
    assert named(clock, "a")["rhythm_out_burstiness"] == -1
    assert named(clock, "a")["rhythm_out_busiest"] == 11 / 101
    assert named(clock, "a")["rhythm_out_trend"] == pytest.approx(0.5)
    assert named(clock, "a")["rhythm_out_rate"] == 24
    assert named(burst, "a")["rhythm_out_burstiness"] > 0.8
    assert named(burst, "a")["rhythm_out_busiest"] == 100 / 101
    assert named(burst, "a")["rhythm_out_trend"] < 0.02


def test_sizes_that_differ_a_lot_are_told_apart_up_to_a_thousandfold() -> None:
    sizes = [(4.0, 4.0, 0.0), (4.0, -4.0, 0.0), (4.0, 8.0, math.log(2)), (1.0, 1e6, math.log(1000)), (0.0, 0.0, 0.0)]
    for got, sent, distance in (*sizes, (0.0, 1.0, math.log(1000)), (1.0, 0.0, math.log(1000))):
        store = store_in_memory(["a", "b"], ["b", "c"], [1, 2], features={"x": [got, sent]})
        assert named(store, "b")["rhythm_x_passed"] == pytest.approx(distance)


@pytest.mark.parametrize("directed", [False, True])
def test_a_row_does_not_depend_on_the_others(random_store: Callable[..., Store], directed: bool) -> None:
    view = random_store(directed=directed).as_of(120)
    together = rhythm_statistics(view, np.arange(view.store.num_nodes))
    for node in range(view.store.num_nodes):
        assert rhythm_statistics(view, np.array([node])).tobytes() == together[node].tobytes()
    backwards = np.arange(view.store.num_nodes)[::-1]
    assert rhythm_statistics(view, backwards).tobytes() == together[backwards].tobytes()
    assert rhythm_statistics(view, backwards[:0]).shape == (0, together.shape[1])


def test_a_directed_store_has_the_statistics_of_an_undirected_one() -> None:
    rng = np.random.default_rng(0)
    src, dst = ([f"{i:02}" for i in rng.integers(0, 12, 300)] for _ in range(2))
    rows = []
    for directed in (False, True):
        store = store_in_memory(
            src, dst, np.random.default_rng(1).permutation(10**6)[:300], features={"x": range(300)}, directed=directed
        )
        rows.append(rhythm_statistics(store.as_of(), np.arange(12)))
    np.testing.assert_allclose(rows[0], rows[1], rtol=1e-12)


@pytest.mark.parametrize("directed", [False, True])
def test_events_from_the_cut_on_change_nothing(directed: bool) -> None:
    past, whole, nodes = past_and_whole(directed)
    wanted = rhythm_statistics(past.as_of(CUT), np.arange(past.num_nodes))
    assert rhythm_statistics(whole.as_of(CUT), nodes).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("directed", [False, True])
def test_times_are_in_seconds_whatever_the_store_counts(directed: bool) -> None:
    views = [months_of_events(unit, directed).as_of() for unit in ("s", "us", "ns")]
    seconds, *finer = (rhythm_statistics(view, np.arange(view.store.num_nodes)).tobytes() for view in views)
    assert finer == [seconds, seconds]


def test_counters_have_rates_per_step_and_no_time_of_day() -> None:
    row = named(store_in_memory(["a"] * 3, ["b"] * 3, [100, 150, 300], unit="step"), "a")
    assert row["rhythm_out_rate"] == 2 / 200
    assert (row["rhythm_day_cos"], row["rhythm_day_sin"]) == (0, 0)


def test_the_rate_of_very_many_events_in_nanoseconds_does_not_overflow() -> None:
    count = 110_000  # times 86,400 billion is more than 64 bits hold
    store = store_in_memory(["a"] * count, ["b"] * count, np.arange(count) * 10**9, unit="ns")
    assert named(store, "a")["rhythm_out_rate"] == 86_400


def test_an_event_exactly_a_tenth_later_is_within_the_window() -> None:
    tenth = 166_333_502_336_277_617  # in floats, more than 0.1 times the whole
    store = store_in_memory(["a"] * 3, ["b"] * 3, [0, tenth, 10 * tenth], unit="ns")
    assert named(store, "a")["rhythm_out_busiest"] == 2 / 3


@pytest.mark.parametrize("directed", [False, True])
def test_a_hub_of_a_hundred_thousand_neighbours(directed: bool) -> None:
    count = 100_000
    leaves = [f"{i:06}" for i in range(count)]
    # Every even leaf pays the hub, and the hub pays the odd one after it a second later.
    src = [leaf if i % 2 == 0 else "hub" for i, leaf in enumerate(leaves)]
    dst = ["hub" if i % 2 == 0 else leaf for i, leaf in enumerate(leaves)]
    # Rows in a random order: the store must sort them.
    order = np.random.default_rng(0).permutation(count)
    store = store_in_memory([src[i] for i in order], [dst[i] for i in order], order, directed=directed)
    row = named(store, "hub")
    assert row["rhythm_hold_min"] == 1
    assert row["rhythm_hold_mean"] == pytest.approx(math.log(2))
    assert row["rhythm_alternation"] == 1
    assert row["rhythm_both_rate"] == 86_400
    assert row["rhythm_both_burstiness"] == -1
    few = np.array([store.node("hub"), store.node("000001"), store.node("hub")])
    rows = rhythm_statistics(store.as_of(), few)
    assert rows[0].tobytes() == rows[2].tobytes()


@pytest.mark.parametrize("directed", [False, True])
def test_the_number_of_threads_changes_no_byte(
    random_store: Callable[..., Store], directed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = random_store(num_events=5_000, num_accounts=700, directed=directed).as_of(150)
    wanted = rhythm_statistics(view, np.arange(view.store.num_nodes))
    monkeypatch.setattr(node_blocks, "_BLOCK", 37)
    monkeypatch.setattr(node_blocks, "_MANY", 74)
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        assert rhythm_statistics(view, np.arange(view.store.num_nodes)).tobytes() == wanted.tobytes()
