from __future__ import annotations

import dataclasses

from gtea.explain.explanation import WhatIf
from gtea.report.case import Case
from gtea.report.summary import one_line, summary, summary_text


def with_what_if(case: Case, found: WhatIf | None) -> Case:
    return dataclasses.replace(case, explanation=dataclasses.replace(case.explanation, what_if=found))


def test_the_paragraph_has_rank_reasons_and_time(busy_case: Case) -> None:
    text = summary_text(busy_case)
    assert text.startswith(f"Ranks 1st of {busy_case.common.num_accounts} accounts. It rests on ")
    assert "of 40 counterparties: without the three strongest, 0x" in text
    assert f"the score would be {busy_case.explanation.removal_curve[2]:.3f}" in text
    assert "Most of what carries it happened between" in text
    assert "no smaller set does it" in text
    assert {part.style for part in summary(busy_case)} == {"plain", "strong", "id"}


def test_what_would_have_to_be_different(busy_case: Case) -> None:
    accounts = tuple(pair.about.account for pair in busy_case.pairs)
    assert "It would be no alert without 39 counterparties (0.200)" in summary_text(
        with_what_if(busy_case, WhatIf(accounts[1:], 0.2, False, False))
    )
    assert "Only without all of them would it be no alert (0.200)" in summary_text(
        with_what_if(busy_case, WhatIf(accounts, 0.2, False, True))
    )
    assert "whichever counterparties are left out" in summary_text(
        with_what_if(busy_case, WhatIf(accounts, 0.9, True, True))
    )
    assert "alert" not in summary_text(with_what_if(busy_case, None))


def test_a_known_label_is_said(busy_case: Case) -> None:
    assert "trained with its label, “illicit”" in summary_text(dataclasses.replace(busy_case, known="illicit"))


def test_the_reason_in_one_line(busy_case: Case) -> None:
    assert " raise it most, between " in one_line(busy_case)
    lowering = tuple(pair for pair in busy_case.pairs if pair.about.effect < 0)
    assert one_line(dataclasses.replace(busy_case, pairs=lowering)) == "forwards 99.7 % of what it receives"
    bare = dataclasses.replace(busy_case.explanation, own_statistics=())
    assert (
        one_line(dataclasses.replace(busy_case, pairs=lowering, explanation=bare)) == "no counterparty raises the score"
    )
