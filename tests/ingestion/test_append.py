"""Appending: what comes out, what is refused, and who sees what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gtea.errors import DataError, StoreError, UsageError
from gtea.ingestion.append import append
from gtea.ingestion.ingest import ingest
from gtea.store.publish import writing
from gtea.store.store import Store
from gtea.store.verify import verify

Make = Callable[..., Store]
OLD = [("a", "b", 1, 1.0), ("c", "b", 5, 2.0), ("a", "b", 5, 3.0)]
NEW = [("b", "a", 5, 4.0), ("aa", "c", 2, 5.0), ("a", "b", 0, 6.0), ("z", "z", 3, 1.0)]


def test_appending_equals_ingesting_all_at_once(store_of: Make, helpers: Any) -> None:
    store = store_of(OLD)
    appended = append(store.path, helpers.rows_table(NEW))
    at_once = store_of([*OLD, *NEW])
    assert helpers.array_bytes(appended) == helpers.array_bytes(at_once)
    assert appended.manifest.counts == at_once.manifest.counts
    assert appended.report == at_once.report
    assert appended.manifest.time == at_once.manifest.time
    assert verify(appended.path, lambda stage, done: None) == []


def test_snap_files_are_appended_as_snap_files(tmp_path: Path, helpers: Any) -> None:
    lines = ["1 2 1254192988\n", "# more\n2\t 3 1254192989\n", " 3 1 1254192987\n9 9 1254192999\n"]
    parts = [tmp_path / f"{i}.txt" for i in range(3)]
    for part, text in zip(parts, lines, strict=True):
        part.write_text(text)
    store = ingest(parts[0], format="snap", out=tmp_path / "s")
    append(store.path, parts[1])
    appended = append(store.path, parts[2])
    at_once = ingest(parts, format="snap", out=tmp_path / "at_once")
    assert helpers.array_bytes(appended) == helpers.array_bytes(at_once)
    assert appended.report == at_once.report
    (tmp_path / "bad.txt").write_text("# more\n1 2\n")
    with pytest.raises(DataError, match=r"bad\.txt, row 2: a line must have three fields"):
        append(store.path, tmp_path / "bad.txt")


def test_a_frame_appended_to_a_snap_store_has_rows_and_not_lines(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("1 2 1254192988\n")
    store = ingest(tmp_path / "e.txt", format="snap", out=tmp_path / "s")
    frame = pa.table({"source": [1, 2], "target": [3, None], "timestamp": [1_254_192_990, 1_254_192_991]})
    assert append(store.path, frame.slice(0, 1)).num_events == 2
    with pytest.raises(DataError, match=r"events frame 2, row 2, column 'target': an account id must not be empty"):
        append(store.path, [tmp_path / "e.txt", frame])


def test_readers_of_the_old_version_are_undisturbed(store_of: Make, helpers: Any) -> None:
    old = store_of(OLD)
    view = old.as_of()
    for moment in range(3):  # the second and third append sweep what nobody reads
        append(old.path, helpers.rows_table([("a", "b", 100 + moment, 1.0)]))
    assert len(view.history("a", "b")) == 2
    assert len(Store.open(old.path).as_of().history("a", "b")) == 5
    assert versions(old.path) == ["v000001", "v000003", "v000004"]  # v000002 had no reader and was swept
    path = old.path
    del old, view
    append(path, helpers.rows_table([("a", "b", 200, 1.0)]))
    assert versions(path) == ["v000004", "v000005"]


def versions(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.glob("v*"))


def test_a_finer_delivery_makes_the_whole_store_finer(tmp_path: Path, helpers: Any) -> None:
    first = pa.table({"s": ["a"], "d": ["b"], "t": ["1600000000"]})
    second = pa.table({"s": ["a", "a"], "d": ["b", "b"], "t": ["1600000000.25", "1600000000"]})
    third = pa.table({"s": ["a"], "d": ["b"], "t": ["1500000000"]})
    options: dict[str, Any] = {"src": "s", "dst": "d", "time": "t", "time_unit": "s"}
    ingest(first, out=tmp_path / "s", **options)
    append(tmp_path / "s", second, on_duplicate="keep")
    appended = append(tmp_path / "s", third)
    at_once = ingest(pa.concat_tables([first, second, third]), out=tmp_path / "o", **options)
    assert appended.unit == "us"
    assert helpers.array_bytes(appended) == helpers.array_bytes(at_once)
    assert appended.report == at_once.report


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (
            "2400-01-01",
            "2020-01-01T00:00:00.000000001Z",
            "s: all times must fit into 64 bits in 'ns', as needed for the new event between 'a' and 'b' at "
            "2020-01-01T00:00:00.000000001Z (got 2400-01-01T00:00:00Z in the store). Round the times of the delivery",
        ),
        (
            "2020-01-01T00:00:00.000000001Z",
            "2400-01-01",
            "all times must fit into 64 bits in 'ns', the unit of the store (got '2400-01-01')",
        ),
    ],
)
def test_times_that_would_overflow_are_refused(tmp_path: Path, first: str, second: str, message: str) -> None:
    options: dict[str, Any] = {"src": "s", "dst": "d", "time": "t", "allow_any_date": True}
    ingest(pa.table({"s": ["a"], "d": ["b"], "t": [first]}), out=tmp_path / "s", **options)
    with pytest.raises(DataError) as error:
        append(tmp_path / "s", pa.table({"s": ["a"], "d": ["b"], "t": [second]}), allow_any_date=True)
    assert message in str(error.value)
    assert Store.open(tmp_path / "s").num_events == 1


def test_the_unit_found_at_first_is_not_guessed_again(tmp_path: Path) -> None:
    table = pa.table({"s": ["a"], "d": ["b"], "t": [1_600_000_000_000]})
    ingest(table, src="s", dst="d", time="t", out=tmp_path / "s")
    store = append(tmp_path / "s", pa.table({"s": ["a"], "d": ["b"], "t": [5000]}))
    assert [int(t) for t in store.arrays.event_time] == [5, 1_600_000_000]


@pytest.mark.parametrize(("on_duplicate", "events"), [("keep", 6), ("drop", 4)])
def test_redelivered_events(store_of: Make, helpers: Any, on_duplicate: Any, events: int) -> None:
    store = store_of([*OLD, OLD[0]])  # the store has the first event twice
    delivery = helpers.rows_table([OLD[0], OLD[0]])
    with pytest.raises(DataError) as error:
        append(store.path, delivery)
    assert "s: already holds 2 of the new events, equal in every column:\n  'a' to 'b' at 1" in str(error.value)
    assert Store.open(store.path).num_events == 4
    result = append(store.path, delivery, on_duplicate=on_duplicate)
    assert result.num_events == events
    assert result.report["dropped"] == ({"redelivered": 2} if on_duplicate == "drop" else {})
    assert result.report["duplicates"] == (3 if on_duplicate == "keep" else 1)


def test_only_as_many_copies_are_dropped_as_the_store_has(store_of: Make, helpers: Any) -> None:
    store = store_of(OLD)
    result = append(store.path, helpers.rows_table([OLD[0]] * 3 + [("a", "b", 1, 9.0)]), on_duplicate="drop")
    assert result.num_events == 6
    assert result.report["dropped"] == {"redelivered": 1}
    assert result.report["duplicates"] == 2


def test_categories_and_nodes_are_merged(tmp_path: Path, helpers: Any) -> None:
    def events(rows: list[tuple[str, str, int, str]]) -> pa.Table:
        return pa.table(dict(zip(("s", "d", "t", "kind"), zip(*rows, strict=True), strict=True)))

    def nodes(rows: dict[str, float]) -> pa.Table:
        return pa.table({"who": list(rows), "age": list(rows.values())})

    options: dict[str, Any] = {
        "src": "s", "dst": "d", "time": "t", "time_unit": "step", "categorical": ["kind"],
        "node_id": "who", "node_features": ["age"],
    }  # fmt: skip
    old, new = [("a", "b", 1, "wire"), ("b", "c", 2, "cash")], [("b", "a", 1, "card"), ("a", "aa", 3, "wire")]
    ingest(events(old), nodes=nodes({"a": 1, "b": 2}), out=tmp_path / "s", **options)
    appended = append(tmp_path / "s", events(new), nodes=nodes({"aa": 3, "a": 1}))
    at_once = ingest(events([*old, *new]), nodes=nodes({"a": 1, "b": 2, "aa": 3}), out=tmp_path / "o", **options)
    assert helpers.array_bytes(appended) == helpers.array_bytes(at_once)
    assert appended.report["nodes"]["without_table_row"] == 1
    with pytest.raises(DataError, match="'a': the node table must give the features that the store already has"):
        append(tmp_path / "s", events([("a", "b", 9, "wire")]), nodes=nodes({"a": 5}))


def test_filtered_stores_can_not_be_appended_to(store_of: Make, helpers: Any) -> None:
    store = store_of(OLD, min_events_per_edge=2)
    with pytest.raises(UsageError, match="the store must not be filtered"):
        append(store.path, helpers.rows_table(NEW))


def test_only_one_writer_at_a_time(store_of: Make, helpers: Any) -> None:
    store = store_of(OLD)
    with writing(store.path), pytest.raises(StoreError, match="another gtea process is writing"):
        append(store.path, helpers.rows_table(NEW))
    append(store.path, helpers.rows_table(NEW))


def test_what_a_killed_writer_left_is_swept(store_of: Make, helpers: Any) -> None:
    store = store_of(OLD)
    half = store.path / ".version.gtea-0123456789abcdef"
    half.mkdir()
    (half / "edge_a.bin").write_text("x")
    (store.path / "v000099").mkdir()
    (store.path.parent / f".{store.path.name}.gtea-0123456789abcdef").mkdir()
    append(store.path, helpers.rows_table(NEW))
    assert {entry.name for entry in store.path.iterdir()} == {"manifest.json", "data_report.json", "v000001", "v000002"}
    assert [entry.name for entry in store.path.parent.iterdir()] == [store.path.name]
