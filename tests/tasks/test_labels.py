"""Labels of accounts: columns, classes, repeats, strangers, the moment of knowledge."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from gtea.errors import DataError, UsageError
from gtea.store.memory import store_in_memory
from gtea.store.store import Store
from gtea.tasks.labels import Labels, positive_class, read_labels


def by_name(labels: Labels, store: Store) -> dict[str, str]:
    return {
        store.account(int(n)): labels.classes[t] for n, t in zip(labels.nodes, labels.targets.tolist(), strict=True)
    }


def test_labels_from_a_file(shop: Store, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("person,verdict\na3,normal\na1,fraud\na12,normal\na3,normal\n")
    labels = read_labels(path, shop)
    assert labels.classes == ("fraud", "normal")
    assert by_name(labels, shop) == {"a1": "fraud", "a3": "normal", "a12": "normal"}
    assert labels.known_at is None
    assert labels.nodes.tolist() == sorted(labels.nodes.tolist())
    assert labels.report == {
        "source": "labels.csv",
        "rows": 4,
        "accounts": 3,
        "repeated_rows": 1,
        "unknown": {"accounts": 0, "rows": 0, "first": []},
        "classes": {"fraud": 1, "normal": 2},
    }


def test_the_order_of_rows_changes_nothing(shop: Store) -> None:
    names, words = [f"a{i}" for i in range(12)], ["x", "y", "z"] * 4
    forward = read_labels(pa.table({"account": names, "label": words}), shop)
    backward = read_labels(pa.table({"account": names[::-1], "label": words[::-1]}), shop)
    assert np.array_equal(forward.nodes, backward.nodes)
    assert np.array_equal(forward.targets, backward.targets)


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ({"id": 0, "what": 1}, {}),
        ({"id": 0, "note": 2, "label": 1}, {}),
        ({"label": 1, "note": 2, "account": 0}, {}),
        ({"note": 2, "id": 0, "class": 1}, {"account": "id", "label": "class"}),
    ],
)
def test_which_column_is_which(columns: dict[str, int], named: dict[str, Any], shop: Store) -> None:
    values = [["a1", "a2"], ["u", "v"], ["?", "!"]]
    frame = pa.table({name: values[number] for name, number in columns.items()})
    assert by_name(read_labels(frame, shop, **named), shop) == {"a1": "u", "a2": "v"}


def test_columns_that_can_not_be_told_apart(shop: Store) -> None:
    with pytest.raises(UsageError, match=r"must have a column 'label' or only one besides 'a' \(got b, c\)"):
        read_labels(pa.table({"a": ["a1"], "b": ["x"], "c": ["y"]}), shop)
    with pytest.raises(UsageError, match=r"only one besides 'account' \(got none\)"):
        read_labels(pa.table({"account": ["a1"]}), shop)
    with pytest.raises(UsageError, match="must be different columns"):
        read_labels(pa.table({"account": ["a1"], "label": ["x"]}), shop, label="account")


def test_numbers_and_truth_values_are_classes_by_their_text(shop: Store) -> None:
    accounts = ["a1", "a2", "a3"]
    assert read_labels(pa.table({"account": accounts, "label": [0, 10, 9]}), shop).classes == ("0", "10", "9")
    assert read_labels(pa.table({"account": accounts, "label": [True, False, True]}), shop).classes == ("false", "true")


def test_rows_that_disagree_are_refused(shop: Store) -> None:
    frame = pa.table({"account": ["a1", "a2", "a1", "a3"], "label": ["x", "x", "y", "y"]})
    with pytest.raises(DataError, match=r"an account may have one label \(got 1 with rows that disagree: 'a1'\)"):
        read_labels(frame, shop)


def test_unknown_accounts_are_skipped_and_counted(shop: Store) -> None:
    frame = pa.table({"account": ["a1", "zz", "a2"], "label": ["x", "w", "y"]})
    with pytest.raises(DataError, match=r"labels frame: every account must be in .* \(got 1 that are not: 'zz'\)"):
        read_labels(frame, shop)
    labels = read_labels(frame, shop, unknown="skip")
    assert labels.classes == ("x", "y")
    assert labels.report["unknown"] == {"accounts": 1, "rows": 1, "first": ["zz"]}


def test_one_class_or_none_is_refused(shop: Store) -> None:
    with pytest.raises(DataError, match=r"at least two classes \(got only 'fraud', 2 times\)"):
        read_labels(pa.table({"account": ["a1", "a2"], "label": ["fraud", "fraud"]}), shop)
    with pytest.raises(DataError, match="must hold at least one label"):
        read_labels(pa.table({"account": pa.array([], pa.string()), "label": pa.array([], pa.string())}), shop)


def test_missing_values_are_named(shop: Store, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("account,label\na1,x\n,y\n")
    with pytest.raises(DataError, match=r"labels\.csv, row 3, column 'account': must not be empty"):
        read_labels(path, shop)


def test_a_file_without_header_is_refused(shop: Store, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("a1,x\na2,y\n")
    with pytest.raises(DataError, match="must start with a header line"):
        read_labels(path, shop)


def test_known_at_in_the_stores_unit_and_the_earliest_of_repeats(store_of: Callable[..., Store]) -> None:
    store = store_of([("a", "b", 1_700_000_000, 1.0), ("b", "c", 1_700_000_100, 1.0)], time_unit="s")
    texts = ["2023-11-14T22:13:20Z", "1700000050", "2023-11-14 22:13:21", "1700000060.5"]
    frame = pa.table({"account": ["a", "b", "a", "c"], "label": ["x", "y", "x", "y"], "known_at": texts})
    labels = read_labels(frame, store)
    assert labels.known_at is not None
    assert labels.known_at.tolist() == [1_700_000_000, 1_700_000_050, 1_700_000_061]
    stamps = pa.array([dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC)] * 2, pa.timestamp("ns", "UTC"))
    typed = read_labels(pa.table({"account": ["a", "b"], "label": ["x", "y"], "when": stamps}), store, known_at="when")
    assert typed.known_at is not None
    assert typed.known_at.tolist() == [1_700_000_000] * 2


@pytest.mark.parametrize("text", ["soon", "nan", "1e999999999", "9" * 40, "2024-13-01"])
def test_a_known_at_that_is_no_moment_is_named(text: str, shop: Store) -> None:
    frame = pa.table({"account": ["a1", "a2"], "label": ["x", "y"], "known_at": ["5", text]})
    with pytest.raises(DataError, match=r"labels frame, row 2, column 'known_at': must be a number or an ISO 8601"):
        read_labels(frame, shop)


def test_the_positive_class_is_the_given_or_the_rarer_or_the_last(shop: Store) -> None:
    def labels(*words: str) -> Labels:
        return read_labels(pa.table({"account": [f"a{i}" for i in range(len(words))], "label": list(words)}), shop)

    assert positive_class(labels("bad", "ok", "ok")) == "bad"
    assert positive_class(labels("bad", "bad", "ok")) == "ok"
    assert positive_class(labels("bad", "ok")) == "ok"
    assert positive_class(labels("bad", "ok"), "bad") == "bad"
    assert positive_class(labels("a", "b", "c")) is None
    with pytest.raises(UsageError, match=r"must be one of two classes \(got 'worse'; the labels are 'bad', 'ok'\)"):
        positive_class(labels("bad", "ok"), "worse")
    with pytest.raises(UsageError, match="must be one of two classes"):
        positive_class(labels("a", "b", "c"), "a")


def test_labels_as_they_stood_before_a_cut(shop: Store) -> None:
    words, moments = ["ok", "bad", "mule", "ok", "bad"], [5, 50, 50, 10, 9]
    frame = pa.table({"account": [f"a{i}" for i in range(5)], "label": words, "known_at": moments})
    labels = read_labels(frame, shop)
    before = labels.existing_before(shop.as_of(50))
    assert by_name(before, shop) == {"a0": "ok", "a3": "ok", "a4": "bad"}
    assert before.classes == ("bad", "ok")
    assert before.known_later == 2
    assert labels.existing_before(shop.as_of(51)).known_later == 0


def test_a_class_that_only_later_accounts_have_does_not_exist_yet() -> None:
    store = store_in_memory(["a", "b", "z"], ["b", "c", "a"], [1, 2, 90])
    frame = pa.table({"account": ["a", "b", "c", "z"], "label": ["ok", "bad", "ok", "mule"]})
    before = read_labels(frame, store).existing_before(store.as_of(50))
    assert by_name(before, store) == {"a": "ok", "b": "bad", "c": "ok"}
    assert (before.classes, before.no_event_yet) == (("bad", "ok"), 1)
    assert read_labels(frame, store).existing_before(store.as_of()).classes == ("bad", "mule", "ok")
