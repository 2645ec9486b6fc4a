"""Explanations of accounts and pairs: they say what the effects are, and nothing else."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from tests.explain.worlds import CUT, among, between, model_of, random_rows, replayed, small, store_of, with_threshold
from tests.properties.graphs import Event

from gtea.config import FeaturesConfig
from gtea.errors import DataError, UsageError
from gtea.explain.explainer import Explainer
from gtea.explain.explanation import log_odds
from gtea.scoring.scorer import NodeModel

ALL = FeaturesConfig(neighbour_labels=True)
# Three payments in a row, twice.
BURSTS = [Event("x1", "x3", time, 2.0, "card") for time in (30, 31, 32, 100, 101, 103)]
ROWS = [*random_rows(1), *BURSTS]
STORE = store_of(ROWS)


@pytest.fixture(scope="module")
def model() -> NodeModel:
    return with_threshold(model_of(STORE, small("hybrid"), features=ALL), 0.4)


@pytest.fixture(scope="module")
def explainer(model: NodeModel) -> Explainer:
    return Explainer(model, STORE, CUT)


def bad(model: NodeModel, gone: Any, account: str = "a00") -> float:
    return float(replayed(ROWS, gone, model, [account])[0])


def test_counterparties_are_ordered_and_replayed(explainer: Explainer, model: NodeModel) -> None:
    found = explainer.explain("a00")
    scored = model.probabilities(STORE, CUT, np.array([STORE.node("a00")]))
    assert found.score == pytest.approx(scored[0, 0], abs=1e-6)
    assert (found.account, found.pair, found.as_of, found.label) == ("a00", None, STORE.date(CUT), "bad")
    assert (
        found.num_counterparties
        == len(found.counterparties)
        == len(np.unique(STORE.as_of(CUT).neighbours("a00").nodes))
    )
    sizes = [abs(each.effect) for each in found.counterparties][3 if found.alert else 0 :]
    assert sizes == sorted(sizes, reverse=True)
    for each in found.counterparties:
        rows = [row for row in ROWS if between("a00", each.account)(row) and row.time < CUT]
        assert each.score_without == pytest.approx(bad(model, between("a00", each.account)), abs=1e-6)
        assert each.effect == pytest.approx(found.log_odds - log_odds(each.score_without), abs=1e-9)
        assert each.num_events == len(rows)
        assert each.sent == pytest.approx(sum(row.amount for row in rows if row.src == "a00"), rel=1e-5)
        assert (each.first, each.last) == tuple(STORE.date(f(row.time for row in rows)) for f in (min, max))
    assert sum(each.weight or 0 for each in found.counterparties) == pytest.approx(1)
    assert found.zero_weight.count == sum(each.weight == 0 for each in found.counterparties)
    assert json.loads(json.dumps(found.to_json()))["counterparties"][0]["account"] == found.counterparties[0].account


def test_curves_and_what_if(explainer: Explainer, model: NodeModel) -> None:
    found = explainer.explain("a00")
    raising = sorted(found.counterparties, key=lambda each: each.score_without)
    assert found.removal_curve[0] == pytest.approx(raising[0].score_without)
    order = explainer.scored([STORE.node("a00")]).raising
    names = [STORE.account(int(node)) for node in np.unique(STORE.as_of(CUT).neighbours("a00").nodes)[order]]
    seconds = [bad(model, among("a00", {names[0], name})) for name in names[1:]]
    assert found.removal_curve[1] == pytest.approx(min(seconds), abs=1e-6)
    for i, score in enumerate(found.removal_curve):
        named = set(names[: i + 1])
        assert score == pytest.approx(bad(model, among("a00", named)), abs=1e-6)
    assert len(found.random_curve.mean) == len(found.removal_curve) == min(12, found.num_counterparties)
    alerts = [each for each in map(explainer.explain, ("a00", "a01", "a02", "a03", "a05", "x1")) if each.alert]
    assert alerts
    for each in alerts:
        assert each.what_if is not None
        assert not each.what_if.alert
        gone = among(each.account, set(each.what_if.accounts))
        assert bad(model, gone, each.account) == pytest.approx(each.what_if.score_without, abs=1e-6)
        if each.what_if.proven_smallest and len(each.what_if.accounts) < 4:
            names = [other.account for other in each.counterparties]
            for some in combinations(names, len(each.what_if.accounts) - 1):
                assert bad(model, among(each.account, set(some)), each.account) >= 0.4


def test_events_and_bursts(explainer: Explainer, model: NodeModel) -> None:
    found = {each.account: each for each in explainer.explain("x1").counterparties}
    assert {account: each.num_events for account, each in found.items()} == {"x2": 3, "x3": 6}
    for event in found["x2"].events:
        twins = [row for row in ROWS if {row.src, row.dst} == {"x1", "x2"} and STORE.date(row.time) == event.time]
        (row,) = (row for row in twins if (row.src == "x1") == event.sent)
        assert event.score_without == pytest.approx(bad(model, lambda other, row=row: other is row, "x1"), abs=1e-6)
        assert event.amount == pytest.approx(row.amount)
    assert [(burst.num_events, burst.sent) for burst in found["x3"].bursts] == [(3, 6.0), (3, 6.0)]
    for burst, some in zip(found["x3"].bursts, (BURSTS[:3], BURSTS[3:]), strict=True):
        assert (burst.first, burst.last) == (STORE.date(some[0].time), STORE.date(some[-1].time))
        assert burst.score_without == pytest.approx(bad(model, lambda row, some=some: row in some, "x1"), abs=1e-6)


def test_an_account_without_events(explainer: Explainer, model: NodeModel) -> None:
    early = Explainer(model, STORE, 1)
    quiet = next(account for account in ("x1", "x2") if not early.view.has_events(np.array([STORE.node(account)]))[0])
    found = early.explain(quiet)
    assert (found.active, found.alert, found.counterparties, found.removal_curve) == (False, False, (), ())
    assert found.what_if is None
    assert 0 < found.score < 1


def test_own_numbers_are_exchanged_for_the_medians(explainer: Explainer) -> None:
    found = explainer.explain("a00").own_statistics
    assert 0 < len(found) <= 6
    sizes = [abs(each.effect) for each in found]
    assert sizes == sorted(sizes, reverse=True)
    assert all("accounts" in each.sentence for each in found)


@pytest.mark.parametrize("features", [True, False])
def test_amounts_are_of_a_column(features: bool) -> None:
    store = store_of(ROWS, features=features)
    plain = model_of(store, small("gtea-l+t"), num_classes=3)
    found = Explainer(plain, store, CUT).explain("a01")
    assert found.amount_column == ("amount" if features else None)
    assert (found.counterparties[0].received is None) == (not features)
    assert found.label in ("bad", "good", "odd")
    assert (found.threshold, found.alert, found.opinions.trees) == (None, False, None)


def test_a_pair(model: NodeModel) -> None:
    links = model_of(STORE, small("hybrid", num_layers=1, link_head="pair"), task="links")
    found = Explainer(links, STORE, CUT).explain("a00", "x1")
    assert found.pair == ("a00", "x1")
    assert {each.end for each in found.counterparties} == {"a00", "x1"}
    assert found.label == "link"
    with pytest.raises(UsageError, match=r"^a00: the model scores pairs: give two accounts\.$"):
        Explainer(links, STORE, CUT).explain("a00")
    with pytest.raises(UsageError, match=r"^a00: the model scores accounts: give one\.$"):
        Explainer(model, STORE, CUT).explain("a00", "x1")


def test_what_is_refused(model: NodeModel, explainer: Explainer) -> None:
    with pytest.raises(DataError, match="no such account"):
        explainer.explain("nobody")
    message = r"^amount: must be an event feature of the store \(got 'money'\)\. It has amount\.$"
    with pytest.raises(UsageError, match=message):
        Explainer(model, STORE, amount="money")
