"""Settings reach the split."""

from __future__ import annotations

from typing import Any

import pytest

from gtea.errors import UsageError
from gtea.training.request import LinkRequest, NodeRequest


def test_shares_of_accounts_and_events_are_settings(payments: Any) -> None:
    settings = ["split.fractions=[0.5, 0.3, 0.2]", "split.graph_fraction=0.25"]
    nodes = NodeRequest.read(payments.store.path, payments.labels, settings=settings).split()
    assert [len(part.index) for part in nodes.parts.values()] == [100, 60, 40]
    links = LinkRequest.read(payments.store.path, settings=settings).split
    earlier = int((payments.store.arrays.event_time < links.graph_until).sum())
    assert earlier == pytest.approx(0.25 * payments.store.num_events, abs=5)


@pytest.mark.parametrize("value", ["[0.5, 0.5]", "[0.9, 0.2, 0.1]", "0.6", '["a", "b", "c"]'])
def test_shares_that_can_not_be(payments: Any, value: str) -> None:
    with pytest.raises(UsageError, match="fractions"):
        NodeRequest.read(payments.store.path, payments.labels, settings=[f"split.fractions={value}"]).split()
