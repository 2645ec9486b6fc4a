from __future__ import annotations

import dataclasses

from gtea.report.case import Case
from gtea.report.index_page import render_index
from gtea.report.index_row import index_row


def page_of(case: Case, *, known: str | None = None, unlabelled: bool = False) -> str:
    row = index_row(dataclasses.replace(case, known=known), case.window)
    footer = [("Model", "<m>")]
    return render_index(case.common, [row] * 12, case.clock, case.window, case.whole[1], footer, unlabelled=unlabelled)


def test_the_index_links_by_rank_and_says_what_to_expect(busy_case: Case) -> None:
    page = page_of(busy_case, known="illicit")
    assert "12 accounts to look at first" in page
    assert 'href="01.html"' in page
    assert "89 % of them are expected to be right (80 % to 95 %)." in page
    assert "336 labelled accounts of the test part of phishing.model" in page
    assert "12 of them have a label that the model was trained with" in page
    assert "&lt;m&gt;" in page


def test_without_an_evaluated_part_nothing_is_promised(busy_case: Case) -> None:
    bare = dataclasses.replace(busy_case, common=dataclasses.replace(busy_case.common, expected=None))
    page = page_of(bare)
    assert "expected" not in page[: page.index("<script")].split("</style>")[1]
    assert "Not labelled" not in page


def test_the_index_says_who_was_left_out(busy_case: Case) -> None:
    said = "Accounts that the model was trained with are left out."
    assert said in page_of(busy_case, unlabelled=True)
    assert said not in page_of(busy_case)
