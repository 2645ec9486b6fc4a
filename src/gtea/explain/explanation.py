"""An explanation: what an account's score would be, had parts of its dealings never happened. Ready for JSON.

Scores are calibrated probabilities. An effect is in log-odds: the log-odds of the score minus those of the score
without the part, so a positive effect raises the score.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

_SMALLEST = 1e-12
"""Probabilities are kept this far from 0 and 1: a score that is rounded to 1 has no infinite log-odds."""


def log_odds(probability: float) -> float:
    """The logarithm of p / (1 - p), finite for every probability."""
    p = min(max(probability, _SMALLEST), 1 - _SMALLEST)
    return math.log(p / (1 - p))


@dataclass(frozen=True)
class EventEffect:
    """One event of a pair, and the score without it."""

    time: str
    sent: bool
    """Whether the account sent it (or received it)."""
    amount: float | None
    """None if the store has no amount column."""
    score_without: float
    effect: float


@dataclass(frozen=True)
class BurstEffect:
    """Events of a pair in quick succession, and the score without all of them."""

    first: str
    last: str
    num_events: int
    received: float | None
    sent: float | None
    score_without: float
    effect: float


@dataclass(frozen=True)
class Counterparty:
    """One counterparty, and the score had the two never dealt with each other."""

    account: str
    end: str
    """The account whose counterparty it is: the account explained, or the end of the pair explained."""
    score_without: float
    effect: float
    weight: float | None
    """The attention weight that the account gives it, of both directions together in a directed store; None for a model
    that is replayed."""
    num_events: int
    received: float | None
    """The sum of what the account received from it; None if the store has no amount column."""
    sent: float | None
    first: str
    last: str
    bursts: tuple[BurstEffect, ...] = ()
    """In time order; only for the strongest counterparties."""
    events: tuple[EventEffect, ...] = ()
    """The latest ones, in time order; only for the strongest counterparties."""


@dataclass(frozen=True)
class StatisticEffect:
    """A number about the account itself, and the score had it been that of the median account."""

    name: str
    value: float
    median: float
    percentile: float
    """The share of accounts, in percent, with a smaller value; of equal values one half."""
    score_at_median: float
    effect: float
    sentence: str
    """What the number says, in words."""


@dataclass(frozen=True)
class WhatIf:
    """The smallest set of counterparties found without which the account is no alert."""

    accounts: tuple[str, ...]
    score_without: float
    alert: bool
    """Whether it is an alert without them, too: then no set was found."""
    proven_smallest: bool
    """Whether all smaller sets of counterparties that matter were tried."""


@dataclass(frozen=True)
class ZeroWeight:
    """The counterparties to which attention gives a weight of exactly zero."""

    count: int


@dataclass(frozen=True)
class RandomCurve:
    """The scores after removing 1, 2, .. counterparties drawn at random."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    """The standard deviation over the draws."""
    num_draws: int = 50


@dataclass(frozen=True)
class Opinions:
    """The probabilities that the parts of a model give, before they are blended and calibrated."""

    network: float | None
    trees: float | None
    """None if the model has none."""


@dataclass(frozen=True)
class Explanation:
    """Why an account, or a pair of accounts, has its score."""

    account: str
    pair: tuple[str, str] | None
    """The two ends, if a pair is explained; ``account`` is the first of them."""
    as_of: str
    cut: int
    """``as_of`` as a stored time."""
    label: str
    """The class whose probability the scores are."""
    score: float
    log_odds: float
    threshold: float | None
    """The lowest score that is an alert; None if the model has none."""
    alert: bool
    active: bool
    """Whether the account has an event before the cut. If not, the score says nothing about it."""
    opinions: Opinions
    amount_column: str | None
    """The event feature that is summed up as received and sent."""
    counterparties: tuple[Counterparty, ...]
    """The strongest first: of an alert the three without which, chosen one by one, the score falls furthest; then by
    the size of the effect."""
    num_counterparties: int
    zero_weight: ZeroWeight
    own_statistics: tuple[StatisticEffect, ...]
    """The strongest first."""
    what_if: WhatIf | None
    """None if the account is no alert."""
    removed: tuple[str, ...]
    """The counterparties that are removed one after the other, those that raise the score most first; 12 at most."""
    removal_curve: tuple[float, ...]
    """The scores without the first 1, 2, .. of them, together."""
    random_curve: RandomCurve
    model_digest: str
    data_digest: str

    def to_json(self) -> dict[str, Any]:
        """For ``gtea explain --json``."""
        return asdict(self)
