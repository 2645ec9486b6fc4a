from __future__ import annotations

import dataclasses

from tests.report.made_up import busy_store, made_up_case

from gtea.report.case import Case, Pair
from gtea.report.next_steps import next_steps, num_known
from gtea.report.shown import short_id
from gtea.store.memory import store_in_memory


def with_known(case: Case, pair: Pair, label: str) -> Case:
    pairs = tuple(dataclasses.replace(each, known=label) if each is pair else each for each in case.pairs)
    return dataclasses.replace(case, pairs=pairs)


def test_those_that_raise_the_score_most_are_looked_at_next(busy_case: Case) -> None:
    found = next_steps(busy_case, {})
    assert [step.whole for step in found.steps] == [pair.about.account for pair in busy_case.named]
    assert found.also == ()
    for step, pair in zip(found.steps, busy_case.named, strict=True):
        assert step.case is None
        assert f"without it the score would be {pair.about.score_without:.3f}" in step.words


def test_where_the_money_comes_from_and_goes_is_worth_a_look() -> None:
    store = store_in_memory(
        ["a", "b", "c", "d", "me", "me", "me"],
        ["me", "me", "me", "me", "d", "e", "f"],
        [1, 2, 3, 4, 5, 6, 7],
        features={"amount": [1.0, 1.0, 1.0, 50.0, 1.0, 90.0, 20.0]},
    )
    case = made_up_case(store)
    steps = {step.whole: step.words for step in next_steps(case, {}).steps}
    assert len(steps) <= 6
    assert "94 % of what the account received" in steps["d"]
    assert "81 % of what the account sent" in steps["e"]
    assert set(steps) == {pair.about.account for pair in case.named} | {"d", "e"}


def test_known_ones_are_named_and_other_cases_are_named(busy_case: Case) -> None:
    last, *others = busy_case.raising[::-1]
    case = with_known(busy_case, last, "illicit")
    assert num_known(busy_case) == 0
    assert num_known(case) == 1
    assert num_known(with_known(busy_case, last, "normal")) == 0
    numbers = {pair.node: number for number, pair in enumerate(others[:14], start=7)}
    found = next_steps(case, numbers)
    assert last.about.account in {step.whole for step in found.steps}
    known = next(step for step in found.steps if step.whole == last.about.account)
    assert known.words.startswith("known as “illicit”; ")
    assert len(found.also) == 12
    assert {step.case for step in (*found.steps, *found.also)} >= {19, 20}
    assert [step.whole for step in found.steps] == [step.whole for step in next_steps(case, {}).steps]
    assert all(not step.words for step in found.also)


def test_shares_are_of_what_the_account_paid_or_got() -> None:
    case = made_up_case(busy_store(2))
    total = sum(float(pair.about.received or 0) for pair in case.pairs)
    for step in next_steps(case, {}).steps:
        pair = next(each for each in case.pairs if each.about.account == step.whole)
        share = (pair.about.received or 0) / total
        if share >= 0.1:
            percent = "100 %" if share == 1 else f"{100 * share:.0f} %"
            assert f"{percent} of what the account received" in step.words


def test_a_case_without_amounts_counts_events(busy_case: Case) -> None:
    bare = dataclasses.replace(busy_case, explanation=dataclasses.replace(busy_case.explanation, amount_column=None))
    assert all("event" in step.words and "payments" not in step.words for step in next_steps(bare, {}).steps)
    assert {step.short for step in next_steps(bare, {}).steps} == {short_id(pair.about.account) for pair in bare.named}
