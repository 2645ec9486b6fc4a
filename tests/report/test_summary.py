from __future__ import annotations

import dataclasses

from gtea.explain.explanation import WhatIf
from gtea.report.case import Case
from gtea.report.figures import listed
from gtea.report.shown import short_id
from gtea.report.summary import one_line, summary, summary_text


def with_what_if(case: Case, found: WhatIf | None) -> Case:
    return dataclasses.replace(case, explanation=dataclasses.replace(case.explanation, what_if=found))


def with_curve(case: Case, *curve: float) -> Case:
    return dataclasses.replace(case, explanation=dataclasses.replace(case.explanation, removal_curve=curve))


def test_the_paragraph_has_rank_reasons_and_time(busy_case: Case) -> None:
    text = summary_text(busy_case)
    assert text.startswith(f"Ranks 1st of {busy_case.common.num_accounts} accounts. Three of its 40 counterparties ")
    names = listed([short_id(account, 6) for account in busy_case.explanation.removed[:3]])
    assert f"raise it most: without {names}, it would be {busy_case.explanation.removal_curve[2]:.3f}." in text
    assert "Most of what counts happened between" in text
    assert "no smaller set does it" in text
    assert {part.style for part in summary(busy_case)} == {"plain", "strong", "id"}


def test_what_would_have_to_be_different(busy_case: Case) -> None:
    accounts = tuple(pair.about.account for pair in busy_case.pairs)
    assert "It would be no alert without 39 counterparties (0.200)" in summary_text(
        with_what_if(busy_case, WhatIf(accounts[1:], 0.2, False, False))
    )
    assert "Only without all of its counterparties, with no event left, would it be no alert." in summary_text(
        with_what_if(busy_case, WhatIf(accounts, 0.2, False, True))
    )
    assert "No set of counterparties, short of all, was found without which it would be no alert." in summary_text(
        with_what_if(busy_case, WhatIf(accounts, 0.2, False, False))
    )
    assert "whichever counterparties are left out" in summary_text(
        with_what_if(busy_case, WhatIf(accounts, 0.9, True, True))
    )
    assert "alert" not in summary_text(with_what_if(busy_case, None))


def test_who_is_named_and_is_enough_is_said_once(busy_case: Case) -> None:
    named = tuple(pair.about.account for pair in busy_case.named)
    text = summary_text(with_what_if(busy_case, WhatIf(named, 0.2, False, True)))
    after = busy_case.explanation.removal_curve[len(named) - 1]
    assert f" it would be {after:.3f}, and no alert; no smaller set does it. Most of" in text
    assert "It would be no alert" not in text


def test_nobody_is_named_where_no_three_are_enough(busy_case: Case) -> None:
    five = WhatIf(tuple(busy_case.explanation.removed[:5]), 0.2, False, False)
    text = summary_text(with_curve(with_what_if(busy_case, five), 0.99, 0.99, 0.99))
    assert "It rests on no three of them. " in text
    assert "own numbers" not in text


def test_known_counterparties_are_counted(busy_case: Case) -> None:
    some = tuple(
        dataclasses.replace(pair, known="illicit" if i < 5 else "normal") for i, pair in enumerate(busy_case.pairs)
    )
    case = dataclasses.replace(busy_case, pairs=some)
    assert "accounts. 5 of its 40 counterparties are known as “illicit”. Three of" in summary_text(case)
    assert one_line(case).endswith("; 5 counterparties known as “illicit”")
    assert "All of its 5 counterparties are known as" in summary_text(dataclasses.replace(case, pairs=some[:5]))
    assert "Its only counterparty is known as" in summary_text(dataclasses.replace(case, pairs=some[:1]))
    assert "known" not in summary_text(busy_case)


def test_a_known_label_is_said(busy_case: Case) -> None:
    assert "trained with its label, “illicit”" in summary_text(dataclasses.replace(busy_case, known="illicit"))


def test_the_reason_in_one_line(busy_case: Case) -> None:
    assert " together raise it most, between " in one_line(busy_case)
    assert one_line(with_curve(busy_case, 0.99)) == "forwards 99.7 % of what it receives"
    bare = dataclasses.replace(with_curve(busy_case, 0.99).explanation, own_statistics=())
    assert one_line(dataclasses.replace(busy_case, explanation=bare)) == "no counterparty raises the score"
    (first, *_), curve = busy_case.raising, (0.2, *busy_case.explanation.removal_curve[1:])
    assert one_line(with_curve(busy_case, *curve[:1])).startswith(f"{short_id(first.about.account)} raises it most")


def test_who_is_named_is_who_is_removed(busy_case: Case) -> None:
    text = summary_text(with_curve(busy_case, 0.2))
    assert (
        f"One of its 40 counterparties raises it most: without {short_id(busy_case.explanation.removed[0], 6)}" in text
    )
    assert "hardly" not in text
    assert "hardly rests on single counterparties" in summary_text(with_curve(busy_case, 0.97))
    bare = with_what_if(with_curve(busy_case, 0.99), None)
    assert "It rests on no counterparty: look at its own numbers" in summary_text(bare)
    one = dataclasses.replace(busy_case, pairs=tuple(busy_case.raising[:1]))
    text = summary_text(with_what_if(with_curve(one, 0.2), WhatIf(one.explanation.removed[:1], 0.2, False, True)))
    assert "Its only counterparty is 0x" in text
    assert "without" not in text


def test_no_alert_is_said(busy_case: Case) -> None:
    quiet = dataclasses.replace(busy_case.explanation, alert=False, what_if=None)
    text = summary_text(dataclasses.replace(busy_case, explanation=quiet))
    assert "accounts: no alert; alerts begin at 0.861. " in text
    unbounded = dataclasses.replace(quiet, threshold=None)
    assert "alert" not in summary_text(dataclasses.replace(busy_case, explanation=unbounded))
