"""Nothing in a store's arrays can make compiled code read outside of them, and no changed byte passes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.store.tampering import change_array

from gtea.errors import StoreError
from gtea.ingestion.append import append
from gtea.ingestion.ingest import ingest
from gtea.store.account_keys import keys_of_all
from gtea.store.graph import graph_of
from gtea.store.integrity import digest_faults, require_bounds, require_digests
from gtea.store.store import Store
from gtea.store.verify import verify

Change = Callable[[Any], Any]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    table = pa.table({
        "s": ["a", "b", "a", "c"], "d": ["b", "a", "c", "d"], "t": [1, 2, 3, 2], "x": [1.0, 2.0, 3.0, 4.0],
        "kind": ["p", "q", "p", "q"],
    })  # fmt: skip
    return ingest(
        table, src="s", dst="d", time="t", features=["x"], categorical=["kind"], time_unit="step", out=tmp_path / "s"
    )


def first(value: int) -> Change:
    def change(values: Any) -> Any:
        values[0] = value
        return values

    return change


def last(value: int) -> Change:
    def change(values: Any) -> Any:
        values[-1] = value
        return values

    return change


def middle(value: int) -> Change:
    def change(values: Any) -> Any:
        values[len(values) // 2] = value
        return values

    return change


FAR = 2**31 - 1
MORE = pa.table({"s": ["a"], "d": ["z"], "t": [9], "x": [1.0], "kind": ["p"]})
OUTSIDE = [
    *((name, change) for name in ("node_offset", "edge_offset") for change in (first(1), last(99), middle(-5))),
    ("edge_offset", middle(0)),  # an edge without an event
    *((name, middle(2**62)) for name in ("node_offset", "edge_offset", "node_id_offset", "slot_edge")),
    *(
        (name, change)
        for name in ("slot_neighbour", "slot_edge", "edge_a", "edge_b", "event_categories")
        for change in (first(-1), last(4), middle(FAR))
    ),
    *((name, change) for name in ("node_id_offset", "vocabulary_0_offset") for change in (first(1), last(99))),
]


@pytest.mark.parametrize(("array", "change"), OUTSIDE)
def test_an_index_that_points_outside_is_refused_before_anything_reads_it(
    store: Store, array: str, change: Change
) -> None:
    """Although all digests are right. Opening is instant, and does not look."""
    change_array(store.path, array, change)
    tampered = Store.open(store.path)
    with pytest.raises(StoreError, match=rf"{store.path.name}: is damaged: {array} must .*gtea verify"):
        tampered.as_of(None)
    with pytest.raises(StoreError, match="is damaged"):
        keys_of_all(tampered)
    with pytest.raises(StoreError, match="is damaged"):
        append(store.path, MORE)


def test_a_store_that_is_right_is_read(store: Store) -> None:
    require_digests(store)
    assert len(graph_of(store.as_of(None)).event_time) == 4
    empty = ingest(
        pa.table({"s": pa.array([], pa.string()), "d": pa.array([], pa.string()), "t": pa.array([], pa.int64())}),
        src="s", dst="d", time="t", time_unit="step", out=store.path.with_name("empty"),
    )  # fmt: skip
    require_digests(empty)
    empty.as_of(None)


def test_long_offsets_are_checked_from_end_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the borders of chunks too."""
    monkeypatch.setattr("gtea.store.integrity._CHUNK", 4)
    arrays: dict[str, Any] = {
        "node_offset": np.arange(21),
        "slot_edge": np.zeros(20, np.int64),
        "slot_neighbour": np.zeros(20, np.int32),
        "edge_a": np.zeros(1, np.int32),
        "edge_b": np.zeros(1, np.int32),
        "edge_offset": np.array([0, 3]),
        "event_time": np.zeros(3, np.int64),
        "node_id_offset": np.arange(21),
        "node_id_bytes": np.zeros(20, np.uint8),
    }
    require_bounds(arrays, Path("s"))
    for place in range(1, 20):
        wrong = np.arange(21)
        wrong[place] = 20 if place < 19 else 0
        with pytest.raises(StoreError, match="node_offset must rise from 0 to 20"):
            require_bounds({**arrays, "node_offset": wrong}, Path("s"))


def test_ids_that_are_not_text_are_refused(store: Store) -> None:
    change_array(store.path, "node_id_bytes", lambda values: values * 0 + 0xFF)
    tampered = Store.open(store.path)
    for read in (lambda: tampered.accounts[0], lambda: tampered.accounts.take(np.arange(2))):
        with pytest.raises(StoreError, match="a table of strings is damaged"):
            read()


def test_one_changed_byte_stops_an_append(store: Store) -> None:
    """The digests of a new version would make it look right."""
    before = sorted(path.name for path in store.path.iterdir())
    path = store.path / store.manifest.folder / "event_features.bin"
    content = bytearray(path.read_bytes())
    content[3] ^= 0x40
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"is damaged: event_features: the content of event_features.bin has changed"):
        append(store.path, MORE)
    assert sorted(path.name for path in store.path.iterdir()) == before


def test_what_a_merge_relies_on_is_checked_although_the_digests_fit(store: Store) -> None:
    """Ids or edges out of order would lose events."""
    before = sorted(path.name for path in store.path.iterdir())
    intact = {name: (store.path / name).read_bytes() for name in before if (store.path / name).is_file()}
    for name, fault in (
        ("node_id_bytes", "strings must be distinct and in order"),
        ("edge_a", "edges must be distinct"),
    ):
        file = store.path / store.manifest.folder / f"{name}.bin"
        content = file.read_bytes()
        change_array(store.path, name, lambda values: values[::-1])
        with pytest.raises(StoreError, match=fault):
            append(store.path, MORE)
        file.write_bytes(content)
        (store.path / "manifest.json").write_bytes(intact["manifest.json"])
    assert sorted(path.name for path in store.path.iterdir()) == before


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_something_else_in_place_of_the_data_report(store: Store, make: Callable[[Path], object]) -> None:
    """It is told before a new version is published."""
    report = store.path / "data_report.json"
    report.unlink()
    make(report)
    for use in (lambda: append(store.path, MORE), lambda: verify(store.path, lambda stage, done: None)):
        with pytest.raises(StoreError, match=r"data_report.json: must be a file"):
            use()
    assert Store.open(store.path).digest == store.digest


def test_damage_is_counted(store: Store) -> None:
    folder = store.path / store.manifest.folder
    for name in ("event_time", "edge_a"):
        path = folder / f"{name}.bin"
        path.write_bytes(bytes(path.stat().st_size))
    with pytest.raises(
        StoreError, match=r"has changed \(sha256 .*\) \(and 1 more\)\. Check the store with gtea verify"
    ):
        require_digests(store)


def test_a_folder_in_place_of_a_file_is_a_fault(store: Store) -> None:
    path = store.path / store.manifest.folder / "edge_a.bin"
    path.unlink()
    path.mkdir()
    (fault,) = digest_faults(path.parent, "edge_a", store.manifest.arrays["edge_a"])
    assert "must be a regular file" in fault


@pytest.mark.parametrize(
    ("array", "words"),
    [
        ("event_features", ("export", "--format", "csv", "--out", "out.csv")),
        ("edge_offset", ("info",)),
        ("event_time", ("train", "--labels", "none.csv", "--out", "model")),
        ("event_time", ("tune", "--labels", "none.csv", "--out", "tuned")),
        ("event_time", ("evaluate", "model", "--labels", "none.csv", "--verify")),
    ],
)
def test_commands_refuse_damage_before_anything_else(
    store: Store, array: str, words: tuple[str, ...], gtea: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files that don't exist are not what is wrong."""
    monkeypatch.chdir(store.path.parent)
    path = store.path / store.manifest.folder / f"{array}.bin"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    command, *rest = words
    model = [rest.pop(0)] if command == "evaluate" else []
    done = gtea(command, *model, store.path, *rest)
    assert done.code == 4
    assert f"is damaged: {array}: the content of {array}.bin has changed" in done.err


def test_export_reads_damaged_stores_if_told_to(store: Store, gtea: Callable[..., Any]) -> None:
    path = store.path / store.manifest.folder / "event_features.bin"
    path.write_bytes(bytes(path.stat().st_size))
    out = store.path.with_name("out.csv")
    assert gtea("export", store.path, "--no-verify", "--format", "csv", "--out", out).code == 0
    assert out.read_text().splitlines()[1].endswith('0,"p"')


@pytest.mark.parametrize(("array", "change"), OUTSIDE)
def test_an_index_that_is_read_of_some_accounts_is_refused(store: Store, array: str, change: Change) -> None:
    """Of all accounts, whatever points outside is found; but for what is not read: where the first offset begins."""
    change_array(store.path, array, change)
    tampered, everybody = Store.open(store.path), np.arange(4)
    if array == "vocabulary_0_offset" or (array.endswith("offset") and change(np.zeros(9))[0] == 1):
        return  # no word is looked up; and an offset of 1 instead of 0 points to something
    with pytest.raises(StoreError, match=r"is damaged: .*(must rise|must be from 0)"):
        tampered.require_bounds_around(everybody, everybody)


@pytest.mark.parametrize("slots", [1, 2, 3, 100])
def test_only_what_is_read_of_some_accounts_is_looked_at(
    store: Store, monkeypatch: pytest.MonkeyPatch, slots: int
) -> None:
    monkeypatch.setattr("gtea.store.integrity._SLOTS", slots)
    nodes = {name: np.array([store.node(name)]) for name in "abcd"}
    wrong = store.arrays.event_categories.copy()
    wrong[store.as_of().event_ranges(store.as_of().neighbours("d").edges)[0][0]] = 99  # of an event of c with d

    def damaged() -> Store:
        return store.with_arrays({"event_categories": wrong}, store.manifest.counts)

    nobody = nodes["a"][:0]
    damaged().require_bounds_around(nodes["a"], nodes["a"])
    damaged().require_bounds_around(nodes["c"], nobody)
    with pytest.raises(StoreError, match="event_categories must be from 0"):
        damaged().require_bounds_around(nodes["d"], nodes["d"])
    offset = store.arrays.node_offset.copy()
    offset[store.node("d") + 1] = 10**6
    far = store.with_arrays({"node_offset": offset}, store.manifest.counts)
    far.require_bounds_around(nodes["b"], nobody)
    for name in ("c", "d"):  # c deals with d: where its slots are is read, too
        other = store.with_arrays({"node_offset": offset}, store.manifest.counts)
        with pytest.raises(StoreError, match="node_offset must rise"):
            other.require_bounds_around(nodes[name], nobody)
