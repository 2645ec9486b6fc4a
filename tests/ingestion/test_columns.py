"""Columns that may not be used, and why."""

from __future__ import annotations

import pytest

from gtea.errors import UsageError
from gtea.ingestion.columns import check_event_columns, check_node_columns
from gtea.store.schema import EventColumns, NodeColumns


def test_columns_that_may_be_used() -> None:
    check_event_columns(EventColumns("a", "b", "t", ("amount", "t"), ("kind",)))
    check_node_columns(NodeColumns("id", ("age",)))


@pytest.mark.parametrize(
    ("columns", "labels", "message"),
    [
        (EventColumns("a", "a", "t"), (), "must be three different columns"),
        (EventColumns("a", "b", "t", ("x",), ("x",)), (), r"each column may be named once \(got x twice\)"),
        (EventColumns("a", "b", "t", ("a",)), (), r"an account id can't be a feature \(got 'a'\)"),
        (EventColumns("a", "b", "t", (" Is_Fraud ",)), (), "a label can't be a feature"),
        (EventColumns("a", "b", "t", ("answer",)), ("answer",), "a label can't be a feature"),
    ],
)
def test_events(columns: EventColumns, labels: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_event_columns(columns, labels)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (NodeColumns("id", ()), "must name at least one column"),
        (NodeColumns("id", ("id",)), "each column may be named once"),
        (NodeColumns("id", ("phishing",)), "a label can't be a feature"),
    ],
)
def test_nodes(columns: NodeColumns, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_node_columns(columns)
