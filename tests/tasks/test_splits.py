"""Splits: sizes, order, cuts, ties, what is left out, and that the same seed gives the same parts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gtea.errors import DataError, UsageError
from gtea.ingestion.ingest import ingest
from gtea.store.store import Store
from gtea.tasks.labels import Labels, read_labels
from gtea.tasks.splits import Part, Split, boundaries, first_events, stratified_folds, temporal_split, validation_split


def labels_of(store: Store, words: Sequence[str], known_at: Sequence[int] | None = None) -> Labels:
    columns = {"account": pa.array([f"a{i}" for i in range(len(words))]), "label": pa.array(list(words))}
    if known_at is not None:
        columns["known_at"] = pa.array(list(known_at))
    return read_labels(pa.table(columns), store)


def names(store: Store, labels: Labels, index: np.ndarray) -> list[str]:
    return [store.account(int(node)) for node in labels.nodes[index]]


def held_out(split: Split) -> Part:
    assert split.test is not None
    return split.test


ALTERNATE = ["x", "y"] * 10


def test_accounts_are_split_by_their_first_event(shop: Store) -> None:
    labels = labels_of(shop, ALTERNATE)
    split = temporal_split(labels, shop)
    assert names(shop, labels, split.train.index) == [f"a{i}" for i in range(12)]
    assert names(shop, labels, split.validation.index) == [f"a{i}" for i in range(12, 16)]
    assert names(shop, labels, held_out(split).index) == [f"a{i}" for i in range(16, 20)]
    # a12 appears at 120, a16 at 160; the last event is at 190.
    assert [part.as_of for part in split.parts.values()] == [120, 160, 191]
    for part in split.parts.values():
        assert (first_events(shop, labels.nodes[part.index]) < part.as_of).all()


def test_a_split_states_its_sizes_and_intervals(shop: Store) -> None:
    described = temporal_split(labels_of(shop, ALTERNATE), shop).describe()
    assert json.loads(json.dumps(described)) == described
    assert described["left_out"] == {"no_event_yet": 0, "label_not_known_yet": 0, "label_known_after_its_part": 0}
    assert described["validation"] == {
        "accounts": 4,
        "classes": {"x": 2, "y": 2},
        "accounts_appeared": ["120", "150"],
        "sees_graph_before": "160",
        "as_of": 160,
    }


def test_an_earlier_as_of_moves_everything_before_it(shop: Store) -> None:
    labels = labels_of(shop, ALTERNATE)
    split = temporal_split(labels, shop, as_of=100)
    # a10 has its first event at exactly 100: it has no history yet.
    assert split.left_out["no_event_yet"] == 10
    assert names(shop, labels, held_out(split).index) == ["a8", "a9"]
    assert [part.as_of for part in split.parts.values()] == [60, 80, 100]
    assert held_out(temporal_split(labels, shop, as_of=10_000)).as_of == 10_000


def test_the_future_changes_no_split(shop: Store, store_of: Callable[..., Store]) -> None:
    past = [(f"a{i - 1}", f"a{i}", 10 * i, 1.0) for i in range(1, 20)]
    other = store_of([*past, *[("a0", f"b{i}", 100 + i, 2.0) for i in range(50)]])
    one, two = (temporal_split(labels_of(store, ALTERNATE), store, as_of=100) for store in (shop, other))
    assert one.describe() == two.describe()
    for first, second in zip(one.parts.values(), two.parts.values(), strict=True):
        assert np.array_equal(first.index, second.index)


def test_equal_times_are_ordered_by_id_and_nobody_is_left_without_history(store_of: Callable[..., Store]) -> None:
    store = store_of([(f"a{i}", "hub", 5, 1.0) for i in range(10)] + [("a0", "hub", 50, 1.0)])
    labels = labels_of(store, ["x", "y"] * 5)
    split = temporal_split(labels, store)
    assert names(store, labels, split.train.index) == [f"a{i}" for i in range(6)]
    assert [part.as_of for part in split.parts.values()] == [6, 6, 51]


def test_accounts_without_any_event_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = [("a0", "a1", 1, 1.0), ("a2", "a3", 2, 1.0), ("a4", "a5", 3, 1.0), ("a9", "a9", 3, 1.0)]
    table = pa.table({name: list(c) for name, c in zip(("s", "d", "t", "f"), zip(*rows, strict=True), strict=True)})
    store = ingest(table, src="s", dst="d", time="t", features=["f"], time_unit="step", out=tmp_path / "s")
    columns = {"account": ["a0", "a1", "a2", "a3", "a4", "a5", "a9"], "label": ["x", "y", "x", "y", "x", "y", "x"]}
    labels = read_labels(pa.table(columns), store)
    split = temporal_split(labels, store, fractions=(1 / 3, 1 / 3, 1 / 3))
    assert split.left_out["no_event_yet"] == 1
    assert [len(part) for part in split.parts.values()] == [2, 2, 2]


def test_labels_known_too_late_are_not_used(shop: Store) -> None:
    known = [0] * 20
    known[3] = 110  # at exactly the training cut: not known yet
    known[4] = 109
    known[13] = 1000  # after the end of the data
    labels = labels_of(shop, ALTERNATE, known)
    split = temporal_split(labels, shop)
    everyone = [name for part in split.parts.values() for name in names(shop, labels, part.index)]
    assert "a13" not in everyone
    assert "a3" not in names(shop, labels, split.train.index)
    assert "a4" in names(shop, labels, split.train.index)
    assert split.left_out == {"no_event_yet": 0, "label_not_known_yet": 1, "label_known_after_its_part": 1}
    folds = stratified_folds(labels, shop, k=3)
    assert {len(fold.train) + len(fold.validation) + len(held_out(fold)) for fold in folds} == {19}


def test_folds_are_the_papers(shop: Store) -> None:
    labels = labels_of(shop, ["x"] * 14 + ["y"] * 6)
    folds = stratified_folds(labels, shop)
    assert len(folds) == 5
    tests = [set(held_out(fold).index.tolist()) for fold in folds]
    assert set.union(*tests) == set(range(20))
    assert sum(map(len, tests)) == 20
    for i, fold in enumerate(folds):
        assert [len(part) for part in fold.parts.values()] == [12, 4, 4]
        assert set(fold.validation.index.tolist()) == tests[(i + 1) % 5]
        assert set(fold.train.index.tolist()) == set(range(20)) - tests[i] - tests[(i + 1) % 5]
        assert held_out(fold).classes["y"] in (1, 2)
        assert {part.as_of for part in fold.parts.values()} == {191}
        assert fold.name == f"fold {i + 1} of 5"


def test_folds_come_from_the_seed_alone(shop: Store) -> None:
    labels = labels_of(shop, ALTERNATE)

    def tests(folds: Sequence[Split]) -> list[list[int]]:
        return [held_out(fold).index.tolist() for fold in folds]

    assert tests(stratified_folds(labels, shop, seed=3)) == tests(stratified_folds(labels, shop, seed=3))
    assert tests(stratified_folds(labels, shop, seed=3)) != tests(stratified_folds(labels, shop, seed=4))


@given(st.lists(st.integers(0, 3), max_size=80), st.integers(3, 6), st.integers(0, 5))
def test_folds_are_even_in_size_and_class(targets: list[int], k: int, seed: int) -> None:
    targets = [0, 1] * 6 + targets  # the other two may be as scarce as they like
    words = np.array(targets)
    labels = Labels(np.arange(len(words)), words, ("a", "b", "c", "d"), None, {})
    folds = stratified_folds(labels, _EverybodyAtZero(len(words)), k=k, seed=seed)  # type: ignore[arg-type]
    sizes = [len(held_out(fold)) for fold in folds]
    assert max(sizes) - min(sizes) <= 1
    for name in labels.classes:
        counts = [held_out(fold).classes[name] for fold in folds]
        assert max(counts) - min(counts) <= 1


class _EverybodyAtZero:
    """As much of a store as a split looks at."""

    unit = "step"
    cut = 1

    def __init__(self, num_nodes: int) -> None:
        self.arrays = self
        self.node_offset = np.arange(num_nodes + 1)
        self.slot_first_time = np.zeros(num_nodes, np.int64)

    def as_of(self, moment: object) -> _EverybodyAtZero:
        return self


def test_boundaries_do_not_fall_short_by_rounding() -> None:
    assert boundaries(10, (0.6, 0.2, 0.2)) == [6, 8]
    assert boundaries(100, (0.7, 0.1, 0.2)) == [70, 80]
    assert boundaries(3360, (0.6, 0.2, 0.2)) == [2016, 2688]


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (lambda s: temporal_split(labels_of(s, ALTERNATE), s, as_of=0), r"none can be used as of 0 \(got 20: 20 of"),
        (lambda s: temporal_split(labels_of(s, ["x", "x", "y"]), s, as_of=20), r"got only 'x', 2 times"),
        (
            lambda s: temporal_split(labels_of(s, ["x"] * 14 + ["y"] * 6), s),
            r"temporal split: the train part must hold accounts of at least two classes \(got 'x': 12\)",
        ),
        (lambda s: temporal_split(labels_of(s, ["x", "y", "x"]), s), r"the train part .* \(got 'x': 1\)"),
        (lambda s: temporal_split(labels_of(s, ["x", "y", "x", "y"]), s), r"validation part .* \(got 'x': 1\)"),
        (
            lambda s: temporal_split(labels_of(s, ALTERNATE, [185] * 20), s),
            r"the train part must hold accounts of at least two classes \(got no account\)",
        ),
        (
            lambda s: stratified_folds(labels_of(s, ["x"] * 9 + ["y", "z", "z"]), s),
            r"5 folds need at least 5 accounts of each of two classes \(got 'x': 9, 'y': 1, 'z': 2\)",
        ),
    ],
)
def test_labels_that_can_not_be_split(split: Callable[[Store], object], message: str, shop: Store) -> None:
    with pytest.raises(DataError, match=message):
        split(shop)


def test_requests_that_can_not_be(shop: Store) -> None:
    labels = labels_of(shop, ALTERNATE)
    with pytest.raises(UsageError, match=r"k: must be at least 3.*\(got 2\)"):
        stratified_folds(labels, shop, k=2)
    for fractions in [(0.5, 0.5), (0.6, 0.2, 0.3), (1.2, -0.1, -0.1), (float("nan"), 0.5, 0.5)]:
        with pytest.raises(UsageError, match="fractions: must be three positive numbers"):
            temporal_split(labels, shop, fractions=fractions)


def test_the_phishing_accounts_as_in_the_paper(data_folder: Path, tmp_path: Path) -> None:
    folder = data_folder / "ethereum_phishing"
    store = ingest(folder / "transactions.parquet", src="from", dst="to", time="timestamp", out=tmp_path / "s")
    labels = read_labels(folder / "labels.csv", store)
    assert labels.report["classes"] == {"normal": 1700, "phishing": 1660}
    split = temporal_split(labels, store)
    assert [len(part) for part in split.parts.values()] == [2016, 672, 672]
    assert split.train.as_of < split.validation.as_of < held_out(split).as_of == store.end
    assert [len(held_out(fold)) for fold in stratified_folds(labels, store)] == [672] * 5


def test_the_latest_accounts_validate_on_the_same_graph(shop: Store) -> None:
    labels = labels_of(shop, ALTERNATE)
    split = validation_split(labels, shop, as_of=185)
    assert names(shop, labels, split.train.index) == [f"a{i}" for i in range(14)]
    assert names(shop, labels, split.validation.index) == [f"a{i}" for i in range(14, 19)]
    assert split.left_out == {"no_event_yet": 1, "label_not_known_yet": 0}
    assert {name: part.as_of for name, part in split.parts.items()} == {"train": 185, "validation": 185}


def test_the_latest_of_each_class_validate_where_one_would_be_missing(shop: Store) -> None:
    labels = labels_of(shop, ["x"] * 2 + ["y"] * 18)
    split = validation_split(labels, shop)
    assert split.train.classes == {"x": 1, "y": 14}
    assert names(shop, labels, split.validation.index) == ["a1", "a16", "a17", "a18", "a19"]


def test_a_class_of_one_account_can_not_be_validated(shop: Store) -> None:
    with pytest.raises(DataError, match=r"at least 2 accounts of every class \(got 1 of 'x'\)"):
        validation_split(labels_of(shop, ["x"] + ["y"] * 19), shop)


@pytest.mark.parametrize("fraction", [0, 1, -0.5])
def test_a_validation_fraction_leaves_something_on_both_sides(shop: Store, fraction: float) -> None:
    with pytest.raises(UsageError, match="validation_fraction: must be above 0 and below 1"):
        validation_split(labels_of(shop, ALTERNATE), shop, fraction=fraction)
