from __future__ import annotations

import pytest

from gtea.report.figures import amount_text, counted, effect_text, listed, ordinal, percent_text, score_text


@pytest.mark.parametrize(
    ("score", "text"),
    [(0.9734, "0.973"), (0.99956, "0.9996"), (0.99996, "> 0.9999"), (0.0004, "0.0004"), (1e-9, "< 0.0001")],
)
def test_no_score_claims_certainty(score: float, text: str) -> None:
    assert score_text(score) == text


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (None, "\N{EN DASH}"),
        (0.0, "0"),
        (3.14159, "3.14"),
        (1234.5, "1,234"),
        (0.0123, "0.012"),
        (-20.0, "\N{MINUS SIGN}20.00"),
        (2e16, "2.00e+16"),
        (float("inf"), "inf"),
    ],
)
def test_amounts_have_the_digits_that_people_read(amount: float | None, text: str) -> None:
    assert amount_text(amount) == text


def test_numbers_in_sentences() -> None:
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 21, 112, 1003)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "21st", "112th", "1,003rd",
    ]  # fmt: skip
    assert counted(1, "event") == "1 event"
    assert counted(2_012, "counterparty", "counterparties") == "2,012 counterparties"
    assert [percent_text(share) for share in (0.0, 0.0002, 0.004, 0.5, 0.996, 0.9999, 1.0)] == [
        "0 %", "< 0.1 %", "0.4 %", "50 %", "99.6 %", "> 99.9 %", "100 %",
    ]  # fmt: skip
    assert [listed(list(words)) for words in ("", "a", "ab", "abc")] == ["", "a", "a and b", "a, b and c"]
    assert [effect_text(effect) for effect in (1.234, -0.5, -0.004)] == ["+1.23", "\N{MINUS SIGN}0.50", "0.00"]
