"""How :mod:`gtea.datasets.world` plants each signal: habits of accounts, and the two forms of a group of payments.

Every account has *leans*, normal numbers whose mean is ``separation / 2`` for illicit accounts and minus that for
normal ones. The signal decides what they act on:

- own: the rate of payments, the level of amounts and their spread, a lean for each.
- partners: the probability that a partner is one of the large accounts.
- histories, order: the probability that a group of four payments has the illicit form instead of the other one.

Leans of the two classes overlap: even a detector that saw one exactly would have a ROC-AUC of Phi(separation / sqrt 2).
What an account does as the partner of others blurs its own habits, and a choice of partners more so; where that is,
the separation is multiplied by a factor, so that a strength means about the same for every signal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gtea.datasets.synthetic import stream
from gtea.datasets.world_accounts import LARGE_SHARE, Bools, Population, Reals

Signal = Literal["own", "partners", "histories", "order"]
GROUP = 4  # payments in a group
_OWN_FACTOR, _PARTNERS_FACTOR = 0.85, 1.4  # three leans together, and one that is blurred more


@dataclass(frozen=True)
class Group:
    """Groups of four payments between an account and its partners 0 and 1, each array of shape (groups, 4).

    Attributes:
        day: Time since the group's first payment.
        partner: Which of the two partners.
        pays: Whether the account pays the partner, not the other way round.
        amount: Relative to the account's level.
    """

    day: Reals
    partner: NDArray[np.int64]
    pays: Bools
    amount: Reals


Form = Callable[[Bools, Reals, np.random.Generator], Group]
"""From whether each group has the illicit form, and amounts of shape (groups, 4), to the groups."""


@dataclass(frozen=True)
class Habits:
    """What each account does, apart from when.

    Attributes:
        rate: Payments per day, relative to other accounts.
        level: Mean of the logarithm of amounts.
        spread: Its standard deviation within a pair.
        to_large: Probability that a partner is a large account.
        illicit_form: Probability that a group of payments has the illicit form.
        form: What groups are like. None if the world has none.
    """

    rate: Reals
    level: Reals
    spread: Reals
    to_large: Reals
    illicit_form: Reals
    form: Form | None


def plant(signal: Signal, accounts: Population, separation: Reals, seed: int) -> Habits:
    """The habits of all accounts; those that belong to the signal depend on the class."""
    shift = (accounts.illicit - 0.5) * separation
    noise = stream(seed, "habits").standard_normal((4, len(shift)))
    own, choice = noise[:3], noise[3]
    plain = _own_habits(accounts.large, own)
    match signal:
        case "own":
            return _own_habits(accounts.large, own + _OWN_FACTOR * shift)
        case "partners":
            return replace(plain, to_large=_probability(choice + _PARTNERS_FACTOR * shift))
        case "histories":
            return replace(plain, illicit_form=_probability(choice + shift), form=returned_payments)
        case "order":
            return replace(plain, illicit_form=_probability(choice + shift), form=collected_payments)


def _own_habits(large: Bools, lean: Reals) -> Habits:
    """Habits without groups, and with partners of any size. Large accounts pay more often and more."""
    same = np.ones(len(large))
    return Habits(
        rate=np.exp(1.1 * large + 0.6 * lean[0]),
        level=3.5 + 1.5 * large + lean[1],
        spread=0.6 * np.exp(0.35 * lean[2]),
        to_large=LARGE_SHARE * same,
        illicit_form=0.5 * same,
        form=None,
    )


def _probability(lean: Reals) -> Reals:
    """Uniform if the lean is standard normal: the logistic function closest to the normal distribution's."""
    probability: Reals = 1 / (1 + np.exp(-1.702 * lean))
    return probability


def returned_payments(illicit_form: Bools, amount: Reals, rng: np.random.Generator) -> Group:
    """Two payments out, a day or two apart, to one partner and to the other; each comes back within hours.

    In the illicit form it comes back from the partner who was paid, otherwise from the other one. Each partner is paid
    once and pays once in both forms, and the account's own times, amounts and directions are the same.
    """
    groups = len(illicit_form)
    out = rng.uniform(24, 48, groups)
    back = rng.uniform(0.5, 6, (groups, 2))
    hour = np.stack([np.zeros(groups), back[:, 0], out, out + back[:, 1]], axis=1)
    first = rng.integers(0, 2, groups)
    crossed = first ^ ~illicit_form
    partner = np.stack([first, crossed, 1 - first, 1 - crossed], axis=1)
    pays = np.tile([True, False, True, False], (groups, 1))
    kept = rng.uniform(0.9, 1, (groups, 2))
    amount = amount[:, [0, 0, 2, 2]]
    amount[:, 1::2] *= kept
    return Group(hour / 24, partner, pays, amount)


def collected_payments(illicit_form: Bools, amount: Reals, rng: np.random.Generator) -> Group:
    """Three receipts from one partner, and a payment of nearly their sum to the other, hours apart.

    In the illicit form the payment comes last, otherwise first. Gaps are drawn alike, so that amounts, gaps and
    directions are the same. No pair sees both the receipts and the payment: only the account's own order tells.
    """
    groups = len(illicit_form)
    gap = np.minimum(rng.exponential(4, (groups, GROUP - 1)), 23)
    hour = np.concatenate([np.zeros((groups, 1)), np.cumsum(gap, axis=1)], axis=1)
    place = np.where(illicit_form, GROUP - 1, 0)[:, None]
    pays = np.arange(GROUP) == place
    payer = rng.integers(0, 2, (groups, 1))
    total = (amount * ~pays).sum(axis=1, keepdims=True) * rng.uniform(0.9, 1, (groups, 1))
    return Group(hour / 24, payer ^ pays, pays, np.where(pays, total, amount))
