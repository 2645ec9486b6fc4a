from __future__ import annotations

import io

import pyarrow.csv as pacsv
import pytest
from tests.report.hostile_ids import HOSTILE
from tests.report.made_up import busy_store

from gtea.errors import UsageError
from gtea.report.case import Case
from gtea.report.dealings import dealings_of
from gtea.report.transactions import transactions_csv
from gtea.store.memory import store_in_memory


def test_all_transactions_oldest_first() -> None:
    store = store_in_memory(
        ["b", "a", "x"],
        ["a", "b", "y"],
        [5, 3, 4],
        features={"amount": [1.5, 2.0, 9.0]},
        categorical={"kind": ["card", "cash", "card"]},
        unit="s",
    )
    file = transactions_csv(dealings_of(store.as_of(), store.node("a"), "amount"))
    rows = pacsv.read_csv(io.BytesIO(file.content)).to_pylist()
    assert (file.written, file.of) == (2, 2)
    assert [(row["src"], row["dst"], row["amount"], row["kind"]) for row in rows] == [
        ("a", "b", 2.0, "cash"),
        ("b", "a", 1.5, "card"),
    ]
    assert file.content.split(b"\n")[1].startswith(b'"1970-01-01T00:00:03Z"')


def test_a_limit_keeps_the_newest(busy_case: Case) -> None:
    whole = transactions_csv(busy_case.dealings)
    for limit in (len(whole.content) // 2, 300):
        file = transactions_csv(busy_case.dealings, limit=limit)
        assert len(file.content) <= limit
        assert 0 < file.written < file.of == whole.written
        assert whole.content.endswith(file.content.split(b"\n", 1)[1])
    assert transactions_csv(busy_case.dealings, limit=len(whole.content)) == whole
    with pytest.raises(UsageError, match=r"--csv-limit: must hold at least the header \(got 5 bytes\). Try 1MB."):
        transactions_csv(busy_case.dealings, limit=5)


def test_no_cell_starts_a_formula() -> None:
    store = busy_store(names=HOSTILE)
    dealings = dealings_of(store.as_of(), store.node("me"), "amount")
    options = pacsv.ParseOptions(newlines_in_values=True)
    safe = pacsv.read_csv(io.BytesIO(transactions_csv(dealings).content), parse_options=options)
    for text in safe["src"].to_pylist() + safe["dst"].to_pylist():
        assert not text.startswith(("=", "+", "-", "@", "\t", "\r", "\x00"))
    exact = transactions_csv(dealings, for_spreadsheets=False).content
    table = pacsv.read_csv(io.BytesIO(exact), parse_options=options)
    assert set(HOSTILE) <= set(table["src"].to_pylist() + table["dst"].to_pylist())
