"""What the service answers, over real HTTP."""

from __future__ import annotations

import json
import threading
from typing import Any

import numpy as np
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi import checks
from tests.live.streams import NAMES, NEW, rows_at, scored_anew
from tests.service.conftest import Served

from gtea.service.path_keys import path_key
from gtea.service.routes import openapi

DOCUMENT: dict[str, Any] = json.loads(openapi())
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)


def test_posted_events_are_scored_exactly(served: Served) -> None:
    rows = [("b", "newcomer", 131, 3.0, "card"), ("m", "d", 99, 5.0, "atm"), ("b", "b", 132, 1.0, "card")]
    before = served.get("/accounts/" + path_key("b")).json
    answer = served.post(rows)
    assert answer.status == 200
    receipt = answer.json
    assert (receipt["accepted"], receipt["last"] - receipt["first"], receipt["repeated"]) == (3, 2, False)
    ends = {each["account"]: each for each in receipt["scores"]}
    assert list(ends) == ["b", "newcomer", "m", "d"]
    assert ends["newcomer"]["old"] is None
    assert ends["b"]["old"] == before["score"]
    anew = scored_anew(served.made.model, served.made.rows + rows, directed=False, loops=True)
    for account, each in ends.items():
        assert each["new"] == pytest.approx(anew[account], abs=1e-6)
        assert each["alert"] == (each["new"] >= 0.46)
    listed = served.get("/accounts").json
    assert listed["of"] == len(listed["accounts"]) == len(anew) - 1  # without the one that has no event
    scores = [each["score"] for each in listed["accounts"]]
    assert scores == sorted(scores, reverse=True)
    for each in listed["accounts"]:
        alone = served.get(f"/accounts/{each['key']}").json
        assert (alone["rank"], alone["account"], alone["of"]) == (each["rank"], each["account"], listed["of"])
        assert alone["probability"] == alone["score"] == pytest.approx(anew[each["account"]], abs=1e-6)
        assert alone["class"] == "bad"
    alerts = served.get("/alerts").json
    assert alerts["alerts"] == sum(score >= alerts["threshold"] for score in scores) > 0
    assert [each["account"] for each in alerts["accounts"]] == [
        each["account"] for each in listed["accounts"] if each["alert"]
    ]


def test_a_request_sent_twice_is_counted_once(served: Served) -> None:
    rows = [("f", "h", 133, 7.0, "card")]
    first, again = served.post(rows, "a key"), served.post(rows, "a key")
    assert (first.json["repeated"], again.json["repeated"]) == (False, True)
    assert first.json["first"] == again.json["first"]
    assert [each["new"] for each in first.json["scores"]] == [each["new"] for each in again.json["scores"]]
    other = served.post(rows * 2, "a key")
    assert (other.status, other.json["detail"]) == (
        422,
        "Idempotency-Key: was sent before with another body. Send a new one.",
    )


def test_many_clients_with_one_key_are_one(served: Served) -> None:
    before = served.get("/alerts").json["as_of_event"]
    answers = list[Any]()
    threads = [
        threading.Thread(target=lambda: answers.append(served.post([("q", "mm", 140, 1.0, "atm")], "shared").json))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer["repeated"] for answer in answers) == [False] + [True] * 7
    assert {answer["first"] for answer in answers} == {before + 1}


def test_readers_never_see_half_an_update(served: Served) -> None:
    """Each event raises the number by one and adds one account: readers see both or none."""
    base = served.get("/accounts?limit=1").json
    offset, stop, seen, faults = base["of"] - base["as_of_event"], threading.Event(), [0], list[str]()

    def read() -> None:
        while not stop.is_set():
            found = served.get("/accounts?limit=1000").json
            seen[0] += 1
            scores = [each["score"] for each in found["accounts"]]
            if found["of"] - found["as_of_event"] != offset or len(scores) != found["of"]:
                faults.append(f"{found['of']} accounts as of event {found['as_of_event']}")
            if scores != sorted(scores, reverse=True):
                faults.append("not in order")

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(40):
        assert (
            served.post([("b", f"reader-{number}-{i}", 150, 1.0, "card") for i in range(number % 3 + 1)]).status == 200
        )
    stop.set()
    for reader in readers:
        reader.join()
    assert seen[0] > 20
    assert faults == []


def test_searching(served: Served) -> None:
    served.post([("Needle-1", "b", 150, 1.0, "card")])
    found = served.get("/accounts?q=nEEdle").json
    assert [each["account"] for each in found["accounts"]] == ["Needle-1"]
    alone = served.get(f"/accounts/{path_key('Needle-1')}").json
    assert found["accounts"][0]["rank"] == alone["rank"]
    assert served.get("/accounts?q=no-such").json["accounts"] == []


def test_what_is_not_there(served: Served) -> None:
    for path in ("/accounts/" + path_key("nobody"), "/accounts/..%2f", "/accounts/a=", "/nothing"):
        answer = served.get(path)
        assert answer.status == 404
        assert answer.headers["content-type"] == "application/problem+json"
    assert served.ask("PUT", "/events").status == 405
    assert served.get("/accounts?limit=0").status == served.get("/stream?changes=some").status == 400


def test_figures_for_prometheus(served: Served) -> None:
    lines = served.get("/metrics").body.decode().splitlines()
    values = {line.split(" ")[0]: float(line.split(" ")[1]) for line in lines if not line.startswith("#")}
    assert values["gtea_ready"] == 1
    assert values["gtea_last_event"] == served.get("/alerts").json["as_of_event"]
    assert values["gtea_resident_bytes"] > 1e7
    assert values["gtea_log_bytes"] > 0
    assert not any("newcomer" in line for line in lines)


def test_a_random_stream_over_http_ends_as_scoring_anew(serve: Any, made: Any, tmp_path: Any) -> None:
    here = made.copied(tmp_path)
    server = serve(here)
    rows = rows_at(np.random.default_rng(8), 60, [*NAMES, *NEW], 95, 160, 4)
    for first in range(0, 60, 7):
        assert server.post(rows[first : first + 7]).status == 200
    anew = scored_anew(here.model, here.rows + rows, directed=False, loops=True)
    for account, score in anew.items():
        if account != "nobody":
            assert server.get(f"/accounts/{path_key(account)}").json["score"] == pytest.approx(score, abs=1e-6)


def test_its_own_description_is_served(served: Served) -> None:
    assert served.get("/openapi.json").json == DOCUMENT


@schemathesis.serializer("application/x-ndjson")
def lines_of(context: Any, value: Any) -> bytes:
    """Whatever is generated, as it is."""
    return value.encode(errors="replace") if isinstance(value, str) else json.dumps(value).encode()


@SCHEMA.parametrize()
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), database=None)
def test_the_description_holds(case: schemathesis.Case[Any], served: Served) -> None:
    """Schemathesis sends what the description allows and what it does not; answers must be as described."""
    if case.operation.path == "/stream":
        return  # it has no end; test_change_feed reads it
    # No text that it makes up has the columns of this store.
    left_out: list[Any] = [checks.positive_data_acceptance] if case.operation.path == "/events" else []
    case.call_and_validate(base_url=f"http://127.0.0.1:{served.port}", timeout=60, excluded_checks=left_out)
