from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.report.made_up import busy_store, explained, made_up_case

from gtea.report.case import Case
from gtea.store.memory import store_in_memory


def test_pairs_are_those_of_the_explanation_with_all_their_events(busy_case: Case) -> None:
    assert [pair.about for pair in busy_case.pairs] == list(busy_case.explanation.counterparties)
    assert [len(pair.time) for pair in busy_case.pairs] == [pair.about.num_events for pair in busy_case.pairs]
    for pair in busy_case.pairs:
        assert np.isclose(pair.amount[pair.sent].sum(), pair.about.sent or 0.0)
        assert (np.diff(pair.time) >= 0).all()


def test_sides_by_what_passed() -> None:
    store = store_in_memory(
        ["me", "a", "b", "me", "me"],
        ["a", "me", "me", "b", "c"],
        [1, 2, 3, 4, 5],
        features={"amount": [5, 1, 9, 0.5, 2]},
    )
    pairs = {pair.about.account: pair for pair in made_up_case(store).pairs}
    assert [pairs[name].pays for name in "abc"] == [False, True, False]
    assert [pairs[name].both_ways for name in "abc"] == [True, False, False]
    plain = store_in_memory(["me", "me", "a"], ["a", "a", "me"], [1, 2, 3])
    assert made_up_case(plain).pairs[0].pays is False
    assert made_up_case(plain).has_amounts is False


def test_the_window_holds_most_of_the_effect_and_stays_within_all_time(busy_case: Case) -> None:
    first, last = busy_case.window
    assert busy_case.whole[0] <= first < last <= busy_case.whole[1]
    weights = [abs(pair.about.effect) for pair in busy_case.pairs]
    held = [np.mean((pair.time >= first) & (pair.time <= last)) for pair in busy_case.pairs]
    assert np.dot(held, weights) >= 0.8 * sum(weights) - 1e-9


def test_strongest_first_and_raising_first_are_two_orders(busy_case: Case) -> None:
    sizes = [abs(pair.about.effect) for pair in busy_case.pairs]
    assert sizes == sorted(sizes, reverse=True)
    removed = busy_case.explanation.removed
    assert [pair.about.account for pair in busy_case.raising[: len(removed)]] == list(removed)
    effects = [pair.about.effect for pair in busy_case.raising[len(removed) :]]
    assert effects == sorted(effects, reverse=True)
    assert len(busy_case.counting) <= len(busy_case.pairs)


@pytest.mark.parametrize(
    ("falls", "named"),
    [
        ((2.0, 1.0, 0.5), 3),
        ((2.0, 0.1, 1.0), 3),
        ((0.5, 4.0, 0.1), 2),
        ((0.0, 4.0, 0.1), 2),
        ((5.0, 0.2, 0.2), 1),
        ((0.0, 0.0, 0.0), 0),
        ((-0.5, -0.1, 0.0), 0),
    ],
)
def test_those_are_named_who_make_most_of_the_fall_together(
    busy_case: Case, falls: tuple[float, ...], named: int
) -> None:
    about = busy_case.explanation
    curve = 1 / (1 + np.exp(-(about.log_odds - np.cumsum(falls))))
    changed = dataclasses.replace(about, removal_curve=tuple(curve.tolist()))
    found = dataclasses.replace(busy_case, explanation=changed).named
    assert [pair.about.account for pair in found] == list(about.removed[:named])
    two = dataclasses.replace(busy_case, explanation=changed, pairs=tuple(busy_case.raising[:2]))
    assert len(two.named) <= 1, "without both, there is nothing to score"


def test_bursts_are_spans_of_page_time_in_any_unit() -> None:
    for unit in ("s", "step"):
        case = made_up_case(busy_store(12, unit=unit))
        spans = [(span, pair) for pair in case.pairs for span in pair.bursts]
        assert spans
        assert all(span == (pair.time[0], pair.time[-1]) for span, pair in spans)
    assert explained(busy_store(3)).what_if is not None
