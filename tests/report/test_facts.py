from __future__ import annotations

import dataclasses

from tests.report.made_up import made_up_case

from gtea.report.case import Case
from gtea.report.facts import facts, pair_facts
from gtea.store.memory import store_in_memory


def test_six_facts_in_amounts() -> None:
    rows = (["a", "me", "b"], ["me", "b", "me"], [0, 86_400, 86_500])
    case = made_up_case(store_in_memory(*rows, features={"amount": [6.0, 9.0, 4.0]}, unit="s"))
    found = {fact.name: (fact.figure, fact.more) for fact in facts(case)}
    assert found == {
        "Received": ("10.00", "of amount, 2 events, 2 payers"),
        "Sent": ("9.00", "of amount, 1 event, 1 payee"),
        "Stays": ("1.00", "10 % of what came in"),
        "Counterparties": ("2", f"{len(case.counting)} with an effect"),
        "First event": ("1 Jan 1970", ""),
        "Last event": ("2 Jan 1970", ""),
    }
    b = next(pair for pair in case.pairs if pair.about.account == "b")
    known = dataclasses.replace(b, known="bad")
    assert pair_facts(case, known) == "2 events, received 4.00, sent 9.00, 2 Jan 1970, known: bad"


def test_without_amounts_events_are_counted() -> None:
    case = made_up_case(store_in_memory(["a", "me"], ["me", "a"], [0, 1]))
    assert [fact.name for fact in facts(case)] == ["Received", "Sent", "Counterparties", "First event", "Last event"]
    assert pair_facts(case, case.pairs[0]).startswith("2 events, 1 received, 1 sent, ")


def test_more_may_go_out_than_came_in(busy_case: Case) -> None:
    spent = dataclasses.replace(busy_case.dealings, sent=~busy_case.dealings.sent & False)
    assert {fact.name for fact in facts(dataclasses.replace(busy_case, dealings=spent))} >= {"Stays"}
    spent = dataclasses.replace(busy_case.dealings, sent=busy_case.dealings.sent | True)
    found = {fact.name: fact.figure for fact in facts(dataclasses.replace(busy_case, dealings=spent))}
    assert found["More sent than received"] == found["Sent"]
