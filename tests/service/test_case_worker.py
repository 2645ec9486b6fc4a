from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import pytest
import torch
from tests.live.streams import Row, frame_of
from tests.service.conftest import Made

from gtea.errors import StoreError
from gtea.explain.explainer import Explainer
from gtea.ingestion.append import append
from gtea.live.event_rows import EventReader
from gtea.live.live_scorer import LiveScorer
from gtea.scoring.edge_cache import model_digest
from gtea.service.case_request import LiveCaseRequest, ServedPlaces
from gtea.service.case_worker import CaseMaker, serve
from gtea.service.event_log import Entry, EventLog
from gtea.service.log_checkpoint_worker import fold
from gtea.store.schema import Schema
from gtea.store.store import Store

ROWS: list[Row] = [("b", "newcomer", 131, 3.0, "card"), ("m", "d", 99, 5.0, "atm"), ("b", "d", 140, 9.0, "new word")]


def places(made: Made) -> ServedPlaces:
    folder = made.folder
    return ServedPlaces.of(folder / "model", model_digest(made.model.saved), folder / "store", folder / "log")


def logged(made: Made, rows: Sequence[Row]) -> EventLog:
    (made.folder / "log").mkdir(exist_ok=True)
    schema = Schema.from_json(Store.open(made.folder / "store").manifest.schema)
    log, reader = EventLog(made.folder / "log", schema), EventReader(schema, allow_any_date=True)
    log.accept(
        [Entry(str(row), b"", [reader.record(record)]) for row in rows for record in frame_of([row]).to_pylist()]
    )
    return log


def request(made: Made, account: str, rows: Sequence[Row], reasons: int | None = None) -> LiveCaseRequest:
    scorer = LiveScorer(made.model, Store.open(made.folder / "store"), allow_any_date=True)
    if rows:
        scorer.update(frame_of(list(rows)))
    return LiveCaseRequest(account, len(rows), float(scorer.score([account])[0]), reasons, 4, 12, (1, 11))


def test_it_explains_the_store_with_the_log_up_to_a_number(made: Made, tmp_path: Any) -> None:
    """The page and the reasons are those of a store that was appended to."""
    here, log = made.copied(tmp_path), None
    log = logged(here, ROWS)
    asked = [request(here, account, ROWS[:2], reasons) for account in ("b", "newcomer") for reasons in (None, 2)]
    told = io.StringIO()
    serve([json.dumps(line) + "\n" for line in (asdict(places(here)), *map(asdict, asked))], told)
    answers = [json.loads(line) for line in told.getvalue().splitlines()]
    assert [list(answer) for answer in answers] == [
        ["page", "seconds"],
        ["num_counterparties", "counterparties", "seconds"],
    ] * 2
    assert "as of event 2<" in answers[0]["page"]
    assert "with the events up to 2 of its log" in answers[0]["page"]
    log.close()
    append(here.folder / "store", frame_of(ROWS[:2]), on_duplicate="keep", allow_any_date=True)
    explainer = Explainer.open(here.folder / "model", here.folder / "store", torch.device("cpu"))
    for answer, account in zip(answers[1::2], ("b", "newcomer"), strict=True):
        whole = explainer.explain(account)
        effects = {each.account: each.effect for each in whole.counterparties}
        assert answer["num_counterparties"] == whole.num_counterparties
        found = answer["counterparties"]
        assert len(found) == min(2, whole.num_counterparties)
        for each in found:
            assert each["effect"] == pytest.approx(effects[each["account"]], abs=1e-5)
        assert abs(found[0]["effect"]) == pytest.approx(max(map(abs, effects.values())), abs=1e-5)


def test_what_was_folded_is_read_from_the_store(made: Made, tmp_path: Any) -> None:
    here = made.copied(tmp_path)
    asked = request(here, "b", ROWS, 1)
    log = logged(here, ROWS)
    assert fold(str(here.folder / "store"), str(here.folder / "log"), 2, "1GB") == 2
    log.forget(2, 0.0)
    assert "counterparties" in CaseMaker(places(here)).answer(asked)
    with pytest.raises(StoreError, match="must hold the events that its log has forgotten, and none after 1"):
        CaseMaker(places(here)).answer(replace(asked, number=1))
    with pytest.raises(StoreError, match="must have the events that the service has"):
        CaseMaker(places(here)).answer(replace(asked, score=asked.score + 0.1))
    log.close()


def test_another_model_is_not_used(made: Made) -> None:
    told = io.StringIO()
    serve([json.dumps(asdict(replace(places(made), model_digest="another")))], told)
    answer = json.loads(told.getvalue())
    assert answer["error"] == "StoreError"
    assert "was changed since the service started" in answer["lines"][0]
