"""What statistics say, in words."""

from __future__ import annotations

import math

import pytest

from gtea.explain.statistic_words import sentence
from gtea.features.account_statistics import statistic_names
from gtea.features.partner_statistics import partner_statistic_names
from gtea.features.rhythm_statistics import rhythm_statistic_names

FEATURES = ("amount", "fee_paid")
NAMES = (*statistic_names(FEATURES), *partner_statistic_names(FEATURES), *rhythm_statistic_names(FEATURES))


def words(name: str, percentile: float = 98.0, **values: float) -> str:
    return sentence(name, {**dict.fromkeys(NAMES, 0.5), **values}, percentile, FEATURES, steps=False)


def test_what_a_mule_does() -> None:
    said = words("left_amount", 2.0, in_amount_sum=1000.0, out_amount_sum=997.0, rhythm_hold_mean=math.log1p(7200.0))
    assert said == "forwards 99.7 % of the amount it receives, within 2 hours; more than 98 % of accounts"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("out_count", 12.0, "12 events sent"),
        ("in_fee_paid_sum", 12345.6, "12,346 of fee_paid received in all"),
        ("both_gap_min", 90.0, "at least 1.5 minutes lie between two events sent or received"),
        ("net_amount", -3.0, "gives away 3 of amount in all"),
        ("partners_in_amount_top_share", 0.997, "the largest of those who pay it has 99.7 % of all amount"),
        ("rhythm_hold_mean", -1.0, "sends nothing after it has received something"),
    ],
)  # fmt: skip
def test_some_sentences(name: str, value: float, said: str) -> None:
    assert words(name, **{name: value}) == f"{said}; more than 98 % of accounts"


@pytest.mark.parametrize("steps", [False, True])
@pytest.mark.parametrize("value", [-1.0, 0.0, 0.5, 3e7])
def test_there_are_words_for_every_statistic(value: float, steps: bool) -> None:
    for name in NAMES:
        logarithm = name.endswith(("degree_mean", "events_mean", "hold_mean", "hold_min", "_passed"))
        values = {**dict.fromkeys(NAMES, value), "rhythm_hold_mean": min(value, 20.0)}
        values[name] = min(value, 20.0) if logarithm else value
        said = sentence(name, values, 10.0, FEATURES, steps)
        assert said.endswith("; less than 90 % of accounts") or name.startswith("left_")
        assert name not in said


def test_a_statistic_of_another_kind_is_named() -> None:
    assert sentence("age", {"age": 3.0}, 60.0, (), steps=False) == "age is 3; more than 60 % of accounts"
