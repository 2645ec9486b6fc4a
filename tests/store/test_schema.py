"""How input is read, kept in the manifest."""

from __future__ import annotations

import json

import pytest

from gtea.store.schema import EventColumns, NodeColumns, Schema

EVENTS = EventColumns("from", "to", "when", ("fee", "amount"), ("kind",))


@pytest.mark.parametrize("nodes", [None, NodeColumns("id", ("age", "tier"))])
def test_a_schema_survives_json(nodes: NodeColumns | None) -> None:
    schema = Schema(EVENTS, nodes, directed=True, time_unit="ms", max_degree=7)
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema


def test_columns_in_the_order_of_the_staged_table() -> None:
    assert EVENTS.all == ("from", "to", "when", "fee", "amount", "kind")
    assert (EVENTS.shape.features, EVENTS.shape.categorical) == (("f0", "f1"), ("c0",))
    assert NodeColumns("id", ("age",)).all == ("id", "age")
