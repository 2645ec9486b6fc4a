from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from gtea.datasets.synthetic import DAY, Events
from gtea.datasets.world_accounts import Period, form_population
from gtea.datasets.world_events import World, world_events
from gtea.datasets.world_signals import Signal, plant

COUNT, DAYS = 500, 360
SIGNALS: tuple[Signal, ...] = get_args(Signal)


def world(signal: Signal, growth: float = 0.0, drift: float = 0.0) -> World:
    accounts = form_population(COUNT, 100, DAYS, "spread", growth, 0.0, seed=0)
    return World(accounts, Period(DAYS, drift), plant(signal, accounts, np.full(COUNT, 2.0), seed=0))


def partners(events: Events, account: int) -> set[int]:
    return {*events.payer[events.payee == account].tolist(), *events.payee[events.payer == account].tolist()}


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize(("rows", "hubs"), [(10_000, 0), (10_003, 3), (2_000, 0), (2_500, 5)])
def test_rows_and_hubs_are_exact_and_everybody_takes_part(signal: Signal, rows: int, hubs: int) -> None:
    events = world_events(world(signal), rows, hubs, 150, seed=1)
    assert len(events.payer) == len(events.payee) == len(events.second) == len(events.amount) == rows
    assert set(events.payer) | set(events.payee) == set(range(COUNT + hubs))
    assert (events.payer != events.payee).all()
    assert (events.amount > 0).all()
    assert [len(partners(events, COUNT + hub)) for hub in range(hubs)] == [150] * hubs


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize("growth", [0.0, 0.6])
def test_an_account_is_active_from_its_first_day_to_its_last(signal: Signal, growth: float) -> None:
    made = world(signal, growth)
    events = world_events(made, 10_000, 0, 1, seed=1)
    day = np.tile(events.second / DAY, 2)
    account = np.concatenate([events.payer, events.payee])
    first, last = np.full(COUNT, np.inf), np.zeros(COUNT)
    np.minimum.at(first, account, day)
    np.maximum.at(last, account, day)
    early, late = made.accounts.first - first, last - made.accounts.last
    assert np.quantile(np.abs(early), 0.9) < 0.1
    # a group takes up to three days, and who finds nobody takes one of the three nearest, who may be some days away
    for outside in (early, late):
        assert np.quantile(outside, 0.95) < 3
        assert outside.max() < 30
    assert events.second.max() < DAYS * DAY


def test_the_rate_habit_decides_how_many_payments_an_account_makes() -> None:
    made = world("own")
    frequent = np.arange(COUNT) % 2 == 0
    habits = replace(made.habits, rate=np.where(frequent, 4.0, 1.0))
    events = world_events(replace(made, habits=habits), 20_000, 0, 1, seed=0)
    owned = np.bincount(events.payer, minlength=COUNT)  # owners make four payments of five
    assert 2 < owned[frequent].mean() / owned[~frequent].mean() < 4


def test_partners_are_large_as_often_as_the_habit_says() -> None:
    made = world("partners")
    habits = replace(made.habits, to_large=np.ones(COUNT), rate=np.ones(COUNT))
    events = world_events(replace(made, habits=habits), 10_000, 0, 1, seed=0)
    assert (made.accounts.large[events.payer] | made.accounts.large[events.payee]).all()


def test_level_and_inflation_multiply_amounts() -> None:
    made = world("own", drift=1.0)
    habits = replace(made.habits, level=np.full(COUNT, 2.0))
    events = world_events(replace(made, habits=habits), 50_000, 0, 1, seed=0)
    slope, level = np.polyfit(events.second / DAY / DAYS, np.log(events.amount), 1)
    assert abs(slope - 1) < 0.1
    assert abs(level - 2) < 0.1


def test_with_drift_payments_become_more_frequent() -> None:
    plain, drifting = (
        world_events(world("own", growth=1.0, drift=drift), 50_000, 0, 1, seed=0).second for drift in (0.0, 1.0)
    )
    assert np.mean(drifting > DAYS * DAY / 2) > np.mean(plain > DAYS * DAY / 2) + 0.05
