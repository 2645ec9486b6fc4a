"""From rows to a store: ids, pairs, duplicates, filters, categories, node tables."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gtea.errors import DataError, UsageError
from gtea.ingestion.ingest import ingest
from gtea.store.store import Store

Make = Callable[..., Store]


def accounts(store: Store) -> list[str]:
    return list(store.accounts.to_arrow().to_pylist())


def test_ids_are_kept_exactly_as_written(tmp_path: Path) -> None:
    odd = [
        "00123",
        "0123",
        "123",
        " 123",
        "0xAbC",
        "NA",
        "null",
        "é",
        "a,b",
        'q"q',
        "1e3",
        "=cmd()",
        "9223372036854775808",
    ]
    path = tmp_path / "e.csv"
    quoted = ['"' + text.replace('"', '""') + '"' for text in odd]
    path.write_text("s,d,t\n" + "".join(f"{text},hub,1\n" for text in quoted), encoding="utf-8")
    store = ingest(path, src="s", dst="d", time="t", time_unit="step", out=tmp_path / "s")
    assert set(accounts(store)) == {*odd, "hub"}
    assert accounts(store) == sorted(accounts(store), key=lambda text: (len(text.encode()), text.encode()))
    for text in odd:
        assert store.account(store.node(text)) == text
        assert store.as_of().degree(text) == 1


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([1, 10, 9], pa.int8()), {"1", "10", "9"}),
        (pa.array([2**63, 2**64 - 1, 0], pa.uint64()), {str(2**63), str(2**64 - 1), "0"}),
        (pa.array([-5, 0, 7], pa.int64()), {"-5", "0", "7"}),
        (pa.array(["a", "b", "a"]).dictionary_encode(), {"a", "b"}),
        (pa.array([12345678901234567890123] * 3, pa.decimal128(38, 0)), {"12345678901234567890123"}),
    ],
)
def test_integer_ids_become_their_decimal_form(tmp_path: Path, column: pa.Array, expected: set[str]) -> None:
    table = pa.table({"s": column, "d": ["hub"] * 3, "t": [1, 2, 3]})
    store = ingest(table, src="s", dst="d", time="t", time_unit="step", out=tmp_path / "s")
    assert set(accounts(store)) == expected | {"hub"}


def test_integers_in_parquet_and_text_in_csv_name_the_same_accounts(tmp_path: Path, helpers: Any) -> None:
    integers = pa.table({"s": [1, 2, 10], "d": [2, 10, 1], "t": [1, 2, 3]})
    pq.write_table(integers, tmp_path / "e.parquet")
    (tmp_path / "e.csv").write_text("t,d,s\n1,2,1\n2,10,2\n3,1,10\n")
    options: dict[str, Any] = {"src": "s", "dst": "d", "time": "t", "time_unit": "step"}
    from_parquet = ingest(tmp_path / "e.parquet", out=tmp_path / "p", **options)
    from_csv = ingest(tmp_path / "e.csv", out=tmp_path / "c", **options)
    assert helpers.array_bytes(from_parquet) == helpers.array_bytes(from_csv)
    both = ingest([tmp_path / "e.parquet", tmp_path / "e.csv"], out=tmp_path / "b", **options)
    assert (both.num_nodes, both.num_edges, both.num_events) == (3, 3, 6)


@pytest.mark.parametrize("ids", [[0, 7, 10, 9], [-3, 7, 10, 2], [5, 1 << 40, 1 << 62, 12]])
@pytest.mark.parametrize(
    "options", [{}, {"directed": True}, {"self_loops": "keep"}, {"max_degree": 2}, {"min_events_per_edge": 2}]
)
def test_integer_columns_and_text_build_the_same_bytes(
    tmp_path: Path, helpers: Any, ids: list[int], options: dict[str, Any]
) -> None:
    """Integers are sorted as they are, text is looked up first: two ways that must not differ."""
    a, b, c, d = ids
    pairs = [(a, b), (b, a), (a, c), (a, d), (d, d), (b, c), (a, b)]
    src, dst = zip(*pairs, strict=True)
    columns: dict[str, Any] = {"src": "s", "dst": "d", "time": "t", "time_unit": "step", **options}
    numbers = pa.table({"s": src, "d": dst, "t": range(len(pairs))})
    texts = pa.table({"s": [str(n) for n in src], "d": [str(n) for n in dst], "t": range(len(pairs))})
    one, other = ingest(numbers, out=tmp_path / "n", **columns), ingest(texts, out=tmp_path / "t", **columns)
    assert helpers.array_bytes(one) == helpers.array_bytes(other)
    assert one.report == other.report


def test_float_ids_are_refused(tmp_path: Path) -> None:
    table = pa.table({"s": [1.0], "d": ["x"], "t": [1]})
    with pytest.raises(DataError, match=r"account ids must be text or whole numbers \(got type DOUBLE\)"):
        ingest(table, src="s", dst="d", time="t", out=tmp_path / "s")


def test_ties_keep_the_order_of_the_input(store_of: Make, helpers: Any) -> None:
    rows = [("a", "b", 5, 1.0), ("b", "a", 5, 2.0), ("a", "b", 3, 3.0), ("a", "b", 5, 4.0)]
    assert helpers.seen_history(store_of(rows), "a", "b", 6) == [
        (3, True, 3.0),
        (5, True, 1.0),
        (5, False, 2.0),
        (5, True, 4.0),
    ]


def test_self_loops_are_left_out_and_the_node_stays(store_of: Make) -> None:
    rows = [("a", "a", 1, 1.0), ("a", "b", 2, 1.0), ("c", "c", 3, 1.0)]
    store = store_of(rows)
    assert (store.num_nodes, store.num_edges, store.num_events) == (3, 1, 1)
    assert store.manifest.counts["self_loops"] == 2
    assert store.report["dropped"] == {"self_loop": 2}
    assert store.as_of().degree("c") == 0


def test_self_loops_can_be_kept_as_an_edge_of_a_node_to_itself(store_of: Make) -> None:
    store = store_of([("a", "a", 1, 1.0), ("a", "b", 2, 1.0)], self_loops="keep")
    assert (store.num_edges, store.num_events) == (2, 2)
    assert store.manifest.counts["self_loops"] == 1
    assert sorted(store.as_of().neighbours("a").nodes) == [0, 1]
    assert len(store.as_of().history("a", "a")) == 1


def test_identical_rows_are_separate_events_and_counted(store_of: Make) -> None:
    rows = [("a", "b", 1, 1.0)] * 3 + [("b", "a", 1, 1.0), ("a", "b", 1, 2.0), ("a", "c", 1, 1.0), ("a", "c", 1, 1.0)]
    store = store_of(rows)
    assert store.num_events == 7
    assert store.report["duplicates"] == 3


def test_directed_stores_keep_the_two_directions_apart(store_of: Make, helpers: Any) -> None:
    rows = [("a", "b", 1, 1.0), ("b", "a", 2, 2.0), ("a", "b", 3, 3.0)]
    store = store_of(rows, directed=True)
    assert (store.num_edges, store.num_events) == (2, 3)
    assert helpers.seen_history(store, "a", "b", 9) == [(1, True, 1.0), (3, True, 3.0)]
    assert helpers.seen_history(store, "b", "a", 9) == [(2, True, 2.0)]
    received = store.as_of().neighbours("b")
    assert len(received) == 2
    into_b = int(received.edges[0])
    assert [bool(sent) for sent in store.as_of().history_of(into_b, "b").sent] == [False, False]


def test_the_papers_filters(store_of: Make) -> None:
    rows = [("hub", f"x{i}", i, 1.0) for i in range(4)] * 2 + [("x0", "x1", 9, 1.0)] * 2 + [("x0", "x2", 9, 1.0)]
    store = store_of(rows, min_events_per_edge=2, max_degree=3)
    # The thin edge goes first; then the hub, whose partners stay although some are left without an edge.
    assert accounts(store) == ["x0", "x1", "x2", "x3"]
    assert (store.num_edges, store.num_events) == (1, 2)
    assert store.report["dropped"] == {"min_events_per_edge": 1, "max_degree": 8}
    assert store.report["nodes"]["dropped_by_max_degree"] == 1
    assert store.report["rows_in"] == 11


def test_categorical_columns_get_a_vocabulary(tmp_path: Path) -> None:
    table = pa.table({"s": ["a", "a", "b"], "d": ["b", "c", "c"], "t": [1, 2, 3], "kind": ["wire", None, "cash"]})
    store = ingest(table, src="s", dst="d", time="t", categorical=["kind"], time_unit="step", out=tmp_path / "s")
    (words,) = store.vocabularies
    assert list(words.to_arrow().to_pylist()) == ["", "cash", "wire"]
    assert [words[int(code)] for code in store.arrays.event_categories[:, 0]] == ["wire", "", "cash"]


def test_node_tables(tmp_path: Path) -> None:
    events = pa.table({"s": ["a", "a"], "d": ["b", "c"], "t": [1, 2]})
    nodes = pa.table({"who": ["b", "a", "z", "z"], "age": [30, 20, 99, 99], "risk": [0.5, 0.0, 1.0, 1.0]})
    store = ingest(
        events, src="s", dst="d", time="t", time_unit="step", out=tmp_path / "s",
        nodes=nodes, node_id="who", node_features=["age", "risk"],
    )  # fmt: skip
    assert accounts(store) == ["a", "b", "c", "z"]  # an account without events is still an account
    assert store.node_features is not None
    assert store.node_in_table is not None
    assert store.node_features.tolist() == [[20, 0], [30, 0.5], [0, 0], [99, 1]]
    assert store.node_in_table.tolist() == [1, 1, 0, 1]
    assert store.report["nodes"] == {
        "table_rows_dropped": 0, "table_rows_repeated": 1, "without_table_row": 1, "dropped_by_max_degree": 0,
    }  # fmt: skip


def test_node_rows_that_disagree_are_refused(tmp_path: Path) -> None:
    events = pa.table({"s": ["a"], "d": ["b"], "t": [1]})
    nodes = pa.table({"who": ["a", "a"], "age": [1, 2]})
    with pytest.raises(DataError, match="got rows that disagree for 'a'"):
        ingest(
            events, src="s", dst="d", time="t", out=tmp_path / "s", nodes=nodes, node_id="who", node_features=["age"]
        )


@pytest.mark.parametrize("name", ["label", "is_fraud", "state_label", "verdict"])
def test_a_label_can_not_be_a_feature(tmp_path: Path, name: str) -> None:
    (tmp_path / "labels.csv").write_text("account,verdict\na,bad\n")
    table = pa.table({"s": ["a"], "d": ["b"], "t": [1], name: [1.0]})
    with pytest.raises(UsageError, match="a label can't be a feature"):
        ingest(table, src="s", dst="d", time="t", features=[name], labels=tmp_path / "labels.csv", out=tmp_path / "s")
    with pytest.raises(UsageError, match="given as --labels and as --nodes"):
        ingest(table, src="s", dst="d", time="t", labels=tmp_path / "labels.csv", nodes=tmp_path / "labels.csv",
               node_id="account", node_features=["verdict"], out=tmp_path / "s")  # fmt: skip


def test_jodie_users_and_items_are_different_accounts(tmp_path: Path) -> None:
    path = tmp_path / "j.csv"
    path.write_text(
        "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n0,0,0.0,0,1.5,2\n0,1,3.0,1,4,5\n"
    )
    store = ingest(path, format="jodie", out=tmp_path / "s")
    assert accounts(store) == ["item:0", "item:1", "user:0"]
    assert store.features == ("f0", "f1")
    assert store.arrays.event_features.tolist() == [[1.5, 2], [4, 5]]
    assert store.manifest.counts["self_loops"] == 0


def test_a_snap_file_gives_the_store_of_its_events(tmp_path: Path, helpers: Any) -> None:
    rows = [
        ("7", "8", 1_254_192_988),
        ("8", "7", 1_254_192_989),
        ("007", "7", 1_254_192_990),
        ("7", "7", 1_254_192_991),
    ]
    (tmp_path / "e.txt").write_text("# source target time\n" + "".join(f"{s} \t{d}  {t}\n" for s, d, t in rows))
    (tmp_path / "e.csv").write_text("s,d,t\n" + "".join(f"{s},{d},{t}\n" for s, d, t in rows))
    store = ingest(tmp_path / "e.txt", format="snap", out=tmp_path / "snap")
    expected = ingest(tmp_path / "e.csv", src="s", dst="d", time="t", time_unit="s", out=tmp_path / "csv")
    assert helpers.array_bytes(store) == helpers.array_bytes(expected)
    assert store.report == expected.report
    assert accounts(store) == ["7", "8", "007"]
    assert (store.num_edges, store.manifest.counts["self_loops"], store.unit) == (2, 1, "s")
    assert store.manifest.schema["time_unit"] == "s"
    assert store.report["notes"] == []


def test_the_seconds_of_a_snap_file_can_be_another_unit(tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_text("1 2 1254192988500\n")
    store = ingest(tmp_path / "e.txt", format="snap", time_unit="ms", out=tmp_path / "s")
    assert store.report["time"]["first"] == "2009-09-29T02:56:28.500000Z"


def test_frames_of_every_kind_give_the_same_store(tmp_path: Path, helpers: Any) -> None:
    import duckdb
    import pandas as pd
    import polars as pl

    columns = {"src": ["a", "b", "a"], "dst": ["b", "c", "c"], "time": [1, 2, 3], "amount": [1.0, 2.5, 3.0]}
    table = pa.table(columns)
    frames = [table, pd.DataFrame(columns), pl.DataFrame(columns), table.to_reader()]
    frames.append(duckdb.from_arrow(table))
    digests = {
        ingest(frame, out=tmp_path / f"s{i}", time_unit="step", **helpers.EVENTS).digest
        for i, frame in enumerate(frames)
    }
    assert len(digests) == 1
    with pytest.raises(UsageError, match="dict: is neither a path nor a frame"):
        ingest({"src": []}, out=tmp_path / "x", **helpers.EVENTS)


def test_python_callers_are_told_what_auto_took(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "gtea"):
        ingest(pa.table({"s": ["a"], "d": ["b"], "t": [1]}), src="s", dst="d", time="t", out=tmp_path / "s")
    assert "time unit detected as 's'" in caplog.text


def test_the_data_report_lies_beside_the_manifest(store_of: Make) -> None:
    store = store_of([("a", "b", 1, 1.0)])
    assert json.loads((store.path / "data_report.json").read_text()) == store.report
    assert store.report["rows_in"] == store.report["rows_kept"] == 1


def test_an_empty_input_makes_an_empty_store(store_of: Make) -> None:
    store = store_of([])
    assert (store.num_nodes, store.num_edges, store.num_events, store.end) == (0, 0, 0, 0)
    assert store.as_of(5).slot_ranges(np.array([], dtype=np.int64))[0].tolist() == []


def test_an_existing_store_is_only_replaced_when_told(store_of: Make, tmp_path: Path) -> None:
    out = tmp_path / "s"
    store_of([("a", "b", 1, 1.0)], out=out)
    with pytest.raises(UsageError, match="exists"):
        store_of([("x", "y", 1, 1.0)], out=out)
    old = Store.open(out)
    new = store_of([("x", "y", 1, 1.0)], out=out, overwrite=True)
    assert accounts(old) == ["a", "b"]  # whoever had it open keeps it
    assert accounts(new) == ["x", "y"]


def test_a_folder_that_is_no_store_is_never_touched(store_of: Make, tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(UsageError, match="exists and is not a store"):
        store_of([("a", "b", 1, 1.0)], out=tmp_path, overwrite=True)
    assert (tmp_path / "precious.txt").read_text() == "mine"
