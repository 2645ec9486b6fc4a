"""A request that went through JSON is the same request."""

from __future__ import annotations

import json
from typing import Any

from gtea.tasks.decision_options import DecisionOptions
from gtea.training.fit import run_identity
from gtea.training.request import LinkRequest, NodeRequest
from gtea.training.request_record import RequestRecord


def again(record: RequestRecord) -> NodeRequest | LinkRequest:
    return RequestRecord(**json.loads(json.dumps(record.to_json()))).open()


def test_accounts(payments: Any, tmp_path: Any) -> None:
    options = {"labels": str(payments.labels), "as_of": str(payments.store.end - 1), "unknown": "skip"}
    request = NodeRequest.read(
        payments.store.path, payments.labels, as_of=options["as_of"], settings=["features.nodes=['rhythm']"],
        positive="normal", decisions=DecisionOptions(budget=3), unknown="skip",
    )  # fmt: skip
    opened = again(RequestRecord.of(request, options))
    assert run_identity(opened.once(tmp_path)) == run_identity(request.once(tmp_path))
    assert run_identity(opened.once(tmp_path)).digest == run_identity(request.once(tmp_path)).digest


def test_links(payments: Any, tmp_path: Any) -> None:
    until = str(int(payments.store.arrays.event_time.mean()))
    request = LinkRequest.read(payments.store.path, graph_until=until, settings=["split.train_windows=2"])
    opened = again(RequestRecord.of(request, {"graph_until": until}))
    assert run_identity(opened.once(tmp_path)) == run_identity(request.once(tmp_path))
