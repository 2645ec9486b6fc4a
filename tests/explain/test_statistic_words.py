"""What statistics say, in words."""

from __future__ import annotations

import math

import pytest

from gtea.explain.statistic_words import OtherAccounts, plain_digits, sentence
from gtea.features.account_statistics import statistic_names
from gtea.features.partner_statistics import partner_statistic_names
from gtea.features.rhythm_statistics import rhythm_statistic_names

FEATURES = ("amount", "fee_paid")
NAMES = (*statistic_names(FEATURES), *partner_statistic_names(FEATURES), *rhythm_statistic_names(FEATURES))


MANY = OtherAccounts(98.0, 1.0)


def words(name: str, standing: OtherAccounts = MANY, /, **values: float) -> str:
    return sentence(name, {**dict.fromkeys(NAMES, 0.5), **values}, standing, FEATURES, steps=False)


def test_what_a_mule_does() -> None:
    moved = {"in_amount_sum": 1000.0, "out_amount_sum": 997.0, "rhythm_hold_mean": math.log1p(7200.0)}
    said = words("left_amount", OtherAccounts(1.0, 98.0), **moved)
    assert said == "forwards 99.7 % of the amount it receives, within 2 hours; more than 98 % of accounts"
    said = words("left_amount", OtherAccounts(12.0, 88.0), **{**moved, "out_amount_sum": 3220.0})
    assert said == (
        "sends 3.22 times the amount it receives, within 2 hours; the two sums are closer than for 88 % of accounts"
    )
    said = words("left_amount", OtherAccounts(30.0, 0.0), in_amount_sum=3.0, out_amount_sum=0.0)
    assert said == "only receives amount; like 70 % of accounts"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("out_count", 12.0, "12 events sent"),
        ("both_count", 1.0, "1 event"),
        ("in_fee_paid_sum", 12345.6, "12,346 of fee_paid received in all"),
        ("both_amount_sum", 0.00002, "0.00002 of amount sent and received in all"),
        ("in_amount_std", 1.69, "the amount of its events received varies by 1.69 (standard deviation)"),
        ("both_gap_min", 90.0, "the shortest time between two events is 1.5 minutes"),
        ("in_partners", 5.0, "is paid by 5 accounts"),
        ("both_partners", 1.0, "has 1 counterparty"),
        ("net_amount", -3.0, "gives away 3 of amount in all"),
        ("partners_in_amount_top_share", 0.997, "the largest of those who pay it has 99.7 % of all amount"),
        ("rhythm_hold_mean", -1.0, "sends nothing after it has received something"),
    ],
)  # fmt: skip
def test_some_sentences(name: str, value: float, said: str) -> None:
    assert words(name, **{name: value}) == f"{said}; more than 98 % of accounts"


def test_a_share_of_accounts_is_that_with_less_or_more() -> None:
    assert words("out_count", OtherAccounts(20.0, 70.0), out_count=2.0) == "2 events sent; less than 70 % of accounts"
    assert words("out_count", OtherAccounts(20.0, 20.0), out_count=2.0) == "2 events sent; like 60 % of accounts"


@pytest.mark.parametrize(
    ("value", "said"), [(2e-05, "0.000020"), (1.234e-7, "0.00000012"), (1e-18, "1e-18"), (0.5, "0.5"), (12.0, "12")]
)
def test_small_numbers_have_no_exponent(value: float, said: str) -> None:
    assert plain_digits(value, 2) in (said, said.rstrip("0"))


@pytest.mark.parametrize("steps", [False, True])
@pytest.mark.parametrize("value", [-1.0, 0.0, 0.5, 3e7])
def test_there_are_words_for_every_statistic(value: float, steps: bool) -> None:
    for name in NAMES:
        logarithm = name.endswith(("degree_mean", "events_mean", "hold_mean", "hold_min", "_passed"))
        values = {**dict.fromkeys(NAMES, value), "rhythm_hold_mean": min(value, 20.0)}
        values[name] = min(value, 20.0) if logarithm else value
        said = sentence(name, values, OtherAccounts(10.0, 90.0), FEATURES, steps)
        assert said.endswith("; less than 90 % of accounts") or name.startswith(("left_", "rhythm_day_"))
        assert name not in said


@pytest.mark.parametrize("name", ["out_gap_min", "out_span", "out_amount_std", "rhythm_out_burstiness"])
def test_a_number_of_too_few_events_is_not_told(name: str) -> None:
    """It is zero by convention: an account with one event has no events at the same time."""
    for count, said in ((0.0, "has no event sent"), (1.0, "has one event sent only")):
        assert words(name, **{"out_count": count, name: 0.0}) == f"{said}; more than 98 % of accounts"
    assert "event sent" not in words("out_count", out_count=0.0)
    two = words("out_gap_min", OtherAccounts(0.0, 94.0), out_count=2.0, out_gap_min=0.0)
    assert two == "has events sent at the same time; 94 % of accounts have longer gaps only"


@pytest.mark.parametrize(
    ("hour", "length", "said"),
    [(4, 0.9, "keep to the hours around 04:00 UTC"), (23.7, 0.5, "around 00:00 UTC"), (18, 0.1, "are spread over the")],
)
def test_a_time_of_day_is_told_as_one(hour: float, length: float, said: str) -> None:
    turned = math.tau * hour / 24
    values = {"rhythm_day_cos": length * math.cos(turned), "rhythm_day_sin": length * math.sin(turned)}
    assert words("rhythm_day_cos", **values) == words("rhythm_day_sin", **values)
    assert said in words("rhythm_day_cos", **values)


def test_a_statistic_of_another_kind_is_named() -> None:
    assert (
        sentence("age", {"age": 3.0}, OtherAccounts(60.0, 40.0), (), steps=False)
        == "age is 3; more than 60 % of accounts"
    )
