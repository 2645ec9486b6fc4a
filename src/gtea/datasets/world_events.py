"""The payments of :mod:`gtea.datasets.world`: who pays whom, when and how much.

Every payment has an *owner*, who decides on partner, time, direction and amount according to its habits. It doesn't
know the partner's class. So what an account receives and sends as somebody's partner says nothing about it, and where
the habits for times and amounts are the same, the account's own numbers are too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gtea.datasets.synthetic import DAY, Events, share_out, stream
from gtea.datasets.world_accounts import Bools, Period, Population, Reals
from gtea.datasets.world_signals import GROUP, Habits

_Index = NDArray[np.int64]

_GROUPED = 0.8  # share of payments in groups, if a world has groups
_NEAR = 3  # partners may also be this many places away in the order of appearance: the first and the last need some


@dataclass(frozen=True)
class _Spells:
    """Stretches of time in which an owner deals with the same partners."""

    owner: _Index
    low: Reals
    high: Reals


@dataclass(frozen=True)
class World:
    """Everything that decides on the payments, except for chance."""

    accounts: Population
    period: Period
    habits: Habits

    @property
    def activity(self) -> Reals:
        """How many payments each account owns, relative to others."""
        accounts, work = self.accounts, self.period.work
        return self.habits.rate * (work(accounts.last) - work(accounts.first))


def world_events(world: World, rows: int, hubs: int, hub_degree: int, seed: int) -> Events:
    """Exactly ``rows`` payments, in no particular order. Hubs have the highest account numbers."""
    count, to_hubs = len(world.accounts.first), hubs * hub_degree
    groups = 0
    if world.habits.form is not None:
        groups = min(int(_GROUPED * rows), rows - count - to_hubs) // GROUP
    parts = [_ordinary_payments(world, rows - GROUP * groups, hubs, hub_degree, stream(seed, "ordinary"))]
    if groups:
        parts.append(_grouped_payments(world, groups, stream(seed, "groups")))
    return Events(*(np.concatenate(columns) for columns in zip(*(vars(part).values() for part in parts), strict=True)))


def _ordinary_payments(world: World, rows: int, hubs: int, hub_degree: int, rng: np.random.Generator) -> Events:
    """Payments to and from one partner at a time, two or three on average, the number heavy-tailed."""
    spells, partner = _pairs(world, rows, hubs, hub_degree, rng)
    length = _lengths(world, spells.owner, rows, rng)
    spell = np.repeat(np.arange(len(partner)), length)
    day = _days(world.period, spells, spell, rng)
    day[np.cumsum(length) - length] = spells.low  # so that an account's first payment is on its first day
    pays = rng.random(rows) < rng.beta(0.8, 0.2, len(partner))[spell]
    amount = np.exp(0.5 * rng.standard_normal(len(partner))[spell] + _noise(world, spells.owner[spell], rng))
    return _events(world, spells.owner[spell], partner[spell], pays, day, amount)


def _pairs(world: World, rows: int, hubs: int, hub_degree: int, rng: np.random.Generator) -> tuple[_Spells, _Index]:
    """Spells with one partner, at least one per account, then those with hubs; about half as many as rows."""
    count = len(world.accounts.first)
    pairs = max(count, (rows - hubs * hub_degree) // 2)
    owner = np.repeat(np.arange(count), 1 + share_out(pairs - count, world.activity))
    near = _spells(world, owner, np.diff(owner, prepend=-1) > 0, rng)
    partner = _partners(world, near, owner, rng)

    clients = [rng.choice(count, hub_degree, replace=False) for _ in range(hubs)]
    client = np.concatenate([np.empty(0, np.int64), *clients])
    far = _spells(world, client, np.zeros(len(client), bool), rng)
    hub = np.repeat(np.arange(count, count + hubs), hub_degree)
    both = zip(vars(near).values(), vars(far).values(), strict=True)
    return _Spells(*map(np.concatenate, both)), np.concatenate([partner, hub])


def _grouped_payments(world: World, groups: int, rng: np.random.Generator) -> Events:
    """Groups of four payments, two groups on average with the same two partners."""
    assert world.habits.form is not None
    count = len(world.accounts.first)
    couples = max(1, groups // 2)
    everybody = int(couples >= count)
    owner = np.repeat(np.arange(count), everybody + share_out(couples - everybody * count, world.activity))
    spells = _spells(world, owner, np.zeros(couples, bool), rng)
    one = _partners(world, spells, owner, rng)
    other = _partners(world, spells, one, rng)

    spell = np.repeat(np.arange(couples), _lengths(world, owner, groups, rng))
    illicit_form = rng.random(groups) < world.habits.illicit_form[owner[spell]]
    amount = np.exp(_noise(world, np.repeat(owner[spell], GROUP), rng)).reshape(groups, GROUP)
    group = world.habits.form(illicit_form, amount, rng)
    day = _days(world.period, spells, spell, rng)[:, None] + group.day
    partner = np.where(group.partner == 0, one[spell][:, None], other[spell][:, None])
    return _events(
        world,
        np.repeat(owner[spell], GROUP),
        partner.ravel(),
        group.pays.ravel(),
        day.ravel(),
        group.amount.ravel(),
    )


def _spells(world: World, owner: _Index, opening: Bools, rng: np.random.Generator) -> _Spells:
    """A stretch of up to half the owner's active time; it begins with it where ``opening``."""
    accounts, work = world.accounts, world.period.work
    first, last = accounts.first[owner], accounts.last[owner]
    low = world.period.day_of(work(first) + rng.random(len(owner)) * (work(last) - work(first)))
    low = np.where(opening, first, low)
    high = np.minimum(low + rng.random(len(owner)) * (last - first) / 2, last)
    return _Spells(owner, low, high)


def _lengths(world: World, owner: _Index, total: int, rng: np.random.Generator) -> _Index:
    """Split ``total`` among spells, at least one each. The rest is heavy-tailed, in proportion to activity."""
    spells = np.bincount(owner)[owner]
    return 1 + share_out(total - len(owner), world.activity[owner] / spells * rng.pareto(1.6, len(owner)))


def _days(period: Period, spells: _Spells, spell: _Index, rng: np.random.Generator) -> Reals:
    """A day within each spell, at the period's rate."""
    low, high = period.work(spells.low), period.work(spells.high)
    return period.day_of(low[spell] + rng.random(len(spell)) * (high - low)[spell])


def _noise(world: World, owner: _Index, rng: np.random.Generator) -> Reals:
    """Logarithms of amounts relative to the owner's level."""
    return world.habits.spread[owner] * rng.standard_normal(len(owner))


def _partners(world: World, spells: _Spells, other: _Index, rng: np.random.Generator) -> _Index:
    """For each spell an account that is active in it: neither its owner nor ``other``."""
    to_large = rng.random(len(spells.owner)) < world.habits.to_large[spells.owner]
    partner = np.empty(len(spells.owner), np.int64)
    for large in (False, True):
        here = to_large == large
        some = _Spells(spells.owner[here], spells.low[here], spells.high[here])
        partner[here] = _active(world.accounts, world.accounts.large == large, some, other[here], rng)
    return partner


def _active(accounts: Population, pool: Bools, spells: _Spells, other: _Index, rng: np.random.Generator) -> _Index:
    """Draw from a pool those who appear before and leave after a spell: neighbours in the order of appearance."""
    members = np.flatnonzero(pool)
    place = np.searchsorted(members, spells.owner)
    begin = np.minimum(np.searchsorted(accounts.last[members], spells.high), place - _NEAR)
    end = np.maximum(np.searchsorted(accounts.first[members], spells.low, side="right"), place + _NEAR)
    begin, size = np.maximum(begin, 0), np.minimum(end, len(members)) - np.maximum(begin, 0)
    step = (rng.random(len(place)) * size).astype(np.int64)
    for _ in range(2):  # the next place may be the other one of the two to avoid
        drawn = members[begin + step]
        step = np.where((drawn == spells.owner) | (drawn == other), (step + 1) % size, step)
    chosen: _Index = members[begin + step]
    return chosen


def _events(world: World, owner: _Index, partner: _Index, pays: Bools, day: Reals, amount: Reals) -> Events:
    """Payments as columns; ``amount`` is relative to the owner's level on that day."""
    level = world.habits.level[owner] + world.period.inflation(day)
    return Events(
        payer=np.where(pays, owner, partner).astype(np.int32),
        payee=np.where(pays, partner, owner).astype(np.int32),
        second=(day * DAY).astype(np.int32),
        amount=(amount * np.exp(level)).astype(np.float32),
    )
