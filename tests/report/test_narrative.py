from __future__ import annotations

import dataclasses

from tests.report.hostile_ids import HOSTILE
from tests.report.made_up import busy_store, made_up_case

from gtea.report.case import Case
from gtea.report.narrative import narrative
from gtea.store.memory import store_in_memory


def test_who_what_when_how_much_why(busy_case: Case) -> None:
    text = narrative(dataclasses.replace(busy_case, known="illicit"))
    for title in ("WHO", "WHAT", "WHEN", "HOW MUCH", "WHY SUSPECTED", "HOW TO CHECK"):
        assert f"\n{title}\n" in text
    assert "labelled 'illicit' when the model was trained" in text
    assert busy_case.raising[0].about.account in text
    assert "forwards 99.7 % of what it receives (+0.61)" in text
    assert "gtea explain phishing.model payments.store" in text


def test_data_without_amounts_say_so() -> None:
    case = made_up_case(store_in_memory(["a", "me"], ["me", "a"], [0, 1]))
    assert "The data have no amounts." in narrative(case)


def test_hostile_ids_stay_on_their_line() -> None:
    text = narrative(made_up_case(busy_store(names=HOSTILE)))
    assert all(line.isprintable() for line in text.split("\n"))
