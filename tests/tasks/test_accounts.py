"""Accounts to score."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from gtea.errors import DataError, UsageError
from gtea.store.store import Store
from gtea.tasks.accounts import read_accounts


def test_accounts_keep_their_order_and_repeats_are_folded(shop: Store, tmp_path: Path) -> None:
    path = tmp_path / "who.csv"
    path.write_text("id\na7\na2\na7\na12\n")
    accounts = read_accounts(path, shop)
    assert [shop.account(int(node)) for node in accounts.nodes] == ["a7", "a2", "a12"]
    assert accounts.report["rows"] == 4
    assert accounts.report["repeated_rows"] == 1
    assert len(accounts) == 3


def test_the_column_is_the_one_named_account_or_the_one_given(shop: Store) -> None:
    frame = pa.table({"other": ["a1"], "account": ["a2"]})
    assert read_accounts(frame, shop).nodes.tolist() == [shop.node("a2")]
    assert read_accounts(frame, shop, account="other").nodes.tolist() == [shop.node("a1")]
    with pytest.raises(UsageError, match=r"must have a column 'account' or only one \(got x, y\)"):
        read_accounts(pa.table({"x": ["a1"], "y": ["a2"]}), shop)


def test_unknown_accounts_stop_or_are_skipped_and_counted(shop: Store) -> None:
    names = ["a1", *(f"b{i}" for i in range(12)), "b0", "A1", "a01"]
    frame = pa.table({"account": names})
    with pytest.raises(DataError, match=r"got 14 that are not: 'b0', 'b1', .*'b9', \.\.\.\)\. Ids are compared"):
        read_accounts(frame, shop)
    accounts = read_accounts(frame, shop, unknown="skip")
    assert accounts.nodes.tolist() == [shop.node("a1")]
    assert accounts.report["unknown"] == {"accounts": 14, "rows": 15, "first": [f"b{i}" for i in range(10)]}


def test_a_table_without_header_is_refused_rather_than_losing_its_first_account(shop: Store, tmp_path: Path) -> None:
    path = tmp_path / "who.csv"
    path.write_text("a3\na4\n")
    with pytest.raises(DataError, match=r"who\.csv: must start with a header line \(got 'a3', which is an account"):
        read_accounts(path, shop)


def test_nobody_is_an_error(shop: Store) -> None:
    with pytest.raises(DataError, match="must name at least one account"):
        read_accounts(pa.table({"account": pa.array([], pa.string())}), shop)
    with pytest.raises(DataError, match="must name at least one account"):
        read_accounts(pa.table({"account": ["zz"]}), shop, unknown="skip")
    with pytest.raises(UsageError, match="unknown: must be 'error' or 'skip'"):
        read_accounts(pa.table({"account": ["a1"]}), shop, unknown="drop")  # type: ignore[arg-type]
