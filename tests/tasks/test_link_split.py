"""Links to foretell: windows by time, distinct pairs in each, and the paper's counts on Wikipedia."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gtea.errors import DataError, UsageError
from gtea.ingestion.ingest import ingest
from gtea.store.store import Store
from gtea.tasks.link_split import LinkPart, split_links

ROWS = [
    ("a", "b", 0, 1.0),
    ("a", "c", 1, 1.0),
    ("a", "b", 2, 1.0),
    ("c", "d", 3, 1.0),
    ("b", "d", 4, 1.0),
    # the graph ends here
    ("b", "a", 10, 1.0),
    ("a", "b", 11, 1.0),
    ("d", "a", 12, 1.0),
    ("a", "d", 20, 1.0),
    ("c", "a", 30, 1.0),
]


def named(store: Store, part: LinkPart) -> list[tuple[str, str, int, bool]]:
    ends = zip(part.src.tolist(), part.dst.tolist(), part.time.tolist(), part.seen.tolist(), strict=True)
    return [(store.account(u), store.account(v), time, seen) for u, v, time, seen in ends]


def test_distinct_pairs_of_each_window_as_of_its_start(store_of: Callable[..., Store]) -> None:
    store = store_of(ROWS)
    split = split_links(store)
    assert split.graph_until == 10
    assert split.graph_pairs == 4
    assert named(store, split.train) == [("b", "a", 10, True), ("d", "a", 12, False)]
    assert named(store, split.validation) == [("a", "d", 20, True)]
    assert named(store, split.test) == [("c", "a", 30, True)]
    assert [part.window for part in split.parts.values()] == [(10, 20), (20, 30), (30, 31)]
    assert [part.as_of for part in split.parts.values()] == [10, 20, 30]


def test_the_papers_protocol_keeps_one_graph(store_of: Callable[..., Store]) -> None:
    store = store_of(ROWS)
    split = split_links(store, protocol="paper")
    assert [part.as_of for part in split.parts.values()] == [10, 10, 10]
    assert named(store, split.validation) == [("a", "d", 20, False)]


def test_a_cut_that_is_given_and_an_end_that_is_given(store_of: Callable[..., Store]) -> None:
    store = store_of(ROWS)
    split = split_links(store, graph_until=2, as_of=20, fractions=(0.4, 0.4, 0.2))
    assert split.graph_pairs == 2
    assert [part.window for part in split.parts.values()] == [(2, 4), (4, 11), (11, 20)]
    assert all(part.time.max() < 20 for part in split.parts.values())


def test_a_link_split_states_its_intervals(store_of: Callable[..., Store]) -> None:
    described = split_links(store_of(ROWS)).describe()
    assert json.loads(json.dumps(described)) == described
    assert described["train"] == {
        "pairs": 2,
        "pairs_seen_before": 1,
        "pairs_without_negative": 0,
        "window": ["10", "20"],
        "sees_graph_before": "10",
        "as_of": 10,
        "windows": 1,
        "examples": 2,
    }


def test_training_is_asked_in_short_windows_each_as_of_its_start(store_of: Callable[..., Store]) -> None:
    store = store_of(ROWS)
    split = split_links(store, train_windows=2)
    assert [lesson.window for lesson in split.train_parts] == [(10, 11), (11, 20)]
    assert [lesson.as_of for lesson in split.train_parts] == [10, 11]
    assert named(store, split.train_parts[0]) == [("b", "a", 10, True)]
    # Of the pair that met at 10, the second window knows that it did.
    assert named(store, split.train_parts[1]) == [("a", "b", 11, True), ("d", "a", 12, False)]
    assert split.describe()["train"]["examples"] == 3
    assert named(store, split.train) == named(store, split_links(store).train)


def test_windows_of_training_end_where_validation_begins_and_those_at_one_time_are_one(
    store_of: Callable[..., Store],
) -> None:
    store = store_of([(s, d, min(t, 10) if t < 20 else t, a) for s, d, t, a in ROWS])
    split = split_links(store, train_windows=6)
    assert [lesson.window for lesson in split.train_parts] == [(10, 20)]


def test_the_papers_protocol_has_one_window_of_training(store_of: Callable[..., Store]) -> None:
    split = split_links(store_of(ROWS), protocol="paper", train_windows=6)
    assert split.train_parts == (split.train,)


def test_payments_to_oneself_are_no_links(store_of: Callable[..., Store]) -> None:
    store = store_of([*ROWS, ("a", "a", 1, 1.0), ("a", "a", 13, 1.0)], self_loops="keep")
    split = split_links(store)
    assert split.graph_pairs == 4
    assert [part.window for part in split.parts.values()] == [(10, 20), (20, 30), (30, 31)]
    assert len(split.train) == 2


Events = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from("efgh"), st.integers(0, 15), st.just(1.0)), min_size=12
)


@pytest.mark.slow
@settings(max_examples=25)
@given(Events, st.booleans(), st.data())
def test_equal_to_looking_at_every_event(
    store_of: Callable[..., Store], rows: list[Any], directed: bool, data: st.DataObject
) -> None:
    store = store_of([(d, s, t, a) if t % 3 == 0 else (s, d, t, a) for s, d, t, a in rows], directed=directed)
    end = data.draw(st.integers(1, 17))
    try:
        split = split_links(store, as_of=end)
    except DataError:
        return
    events = [((d, s) if t % 3 == 0 else (s, d), t) for s, d, t, _ in rows if t < end]
    times = sorted(t for _, t in events)
    assert split.graph_until == times[len(times) // 2]
    windows = [part.window for part in split.parts.values()]
    assert [low for low, _ in windows][1:] == [high for _, high in windows][:-1]
    for part in split.parts.values():
        low, high = part.window
        inside = {pair if directed else tuple(sorted(pair)) for pair, t in events if low <= t < high}
        found = [(store.account(int(u)), store.account(int(v))) for u, v in zip(part.src, part.dst, strict=True)]
        assert {pair if directed else tuple(sorted(pair)) for pair in found} == inside
        assert len(found) == len(inside)
        assert all((pair, time) in events for pair, time in zip(found, part.time.tolist(), strict=True))
        assert part.time.tolist() == sorted(part.time.tolist())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"graph_until": 31}, r"there must be events from graph_until = 31 to before 31 \(got none\)"),
        ({"as_of": 0}, r"must have events before as_of \(got none\)"),
        ({"graph_until": 30}, r"the train part must hold at least one pair \(got none from 30 to before 30\)"),
    ],
)
def test_splits_that_can_not_be(options: dict[str, Any], message: str, store_of: Callable[..., Store]) -> None:
    with pytest.raises(DataError, match=message):
        split_links(store_of(ROWS), **options)


def test_requests_that_can_not_be(store_of: Callable[..., Store]) -> None:
    store = store_of(ROWS)
    with pytest.raises(UsageError, match="protocol: must be 'temporal' or 'paper'"):
        split_links(store, protocol="random")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="graph_fraction: must be between 0 and 1"):
        split_links(store, graph_fraction=1.0)


def test_wikipedia_has_the_papers_counts(data_folder: Path, tmp_path: Path) -> None:
    store = ingest(data_folder / "wikipedia" / "wikipedia.csv.gz", format="jodie", out=tmp_path / "s")
    split = split_links(store, protocol="paper")
    assert split.graph_pairs == 10_461
    assert 2 * split.graph_pairs == 20_922
    sizes = [len(part) for part in split.parts.values()]
    assert sizes == [6_743, 3_228, 3_368]
    # As many negatives as positives: the paper's 26,678 samples.
    assert 2 * sum(sizes) == 26_678
    assert all(store.account(int(node)).startswith("user:") for node in split.test.src[:100])
