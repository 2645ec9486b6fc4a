"""Does the explanation hold? The score as what is named is removed, against other orders of removal.

For each of some alerts, 1, 2, .. counterparties are removed together and the account is scored again, exactly:

- ``removal``: those that raise the score most first, as in the explanation: the first three chosen one by one, the
  others by their own effects.
- ``random``: as many at random, on average over draws.
- ``attention``: those with the largest attention weights first.
- ``greedy``: in each step the one that lowers the score most, given those that are gone: what a search could reach.

The sooner the score falls, the more an order has named what the score comes from. An account whose counterparties are
all gone stays at the score of an account without events.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import UsageError
from gtea.explain.explainer import CURVE_LENGTH, Explainer, random_sets
from gtea.explain.explanation import log_odds
from gtea.explain.scored import Scored
from gtea.features.preprocessing import evenly_spaced
from gtea.runtime.progress import Progress, no_progress
from gtea.scoring.scorer import NodeModel

ORDERS = ("removal", "random", "attention", "greedy")
_FEWEST = 4
"""Accounts with fewer counterparties say little about an order."""
_TRIED_PER_STEP = 48

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AccountFidelity:
    """The curves of one account."""

    account: str
    score: float
    num_counterparties: int
    seconds: float
    """The time that its effects took."""
    curves: dict[str, tuple[float, ...]]
    """The score after removing 1, 2, .. counterparties, by order."""


@dataclass(frozen=True)
class OrderSummary:
    """One order over all accounts."""

    curve: tuple[float, ...]
    """The mean score after removing 1, 2, .. counterparties."""
    mean_score: float
    """The mean over the whole curve: the lower, the better."""
    mean_drop: float
    """How far the log-odds of the score fall, on average over the curve and the accounts."""
    behind_removal: float
    """The share of accounts for which the explanation's order falls further over the curve; of equal ones half."""


@dataclass(frozen=True)
class Fidelity:
    """What the audit found."""

    as_of: str
    accounts: tuple[AccountFidelity, ...]
    orders: dict[str, OrderSummary]
    seconds_per_account: float

    def to_json(self) -> dict[str, Any]:
        """For ``gtea explain --audit --json``."""
        return asdict(self)


def audit(explainer: Explainer, num_accounts: int = 50, progress: Progress = no_progress) -> Fidelity:
    """Compare orders of removal for alerts with at least four counterparties, evenly spaced by their rank."""
    nodes = _alerts(explainer, num_accounts)
    found = []
    for done, node in enumerate(nodes):
        progress("removing counterparties", done / len(nodes))
        found.append(_account(explainer, int(node)))
    seconds = float(np.mean([each.seconds for each in found]))
    orders = {order: _summary(found, order) for order in ORDERS}
    return Fidelity(explainer.store.date(explainer.view.cut), tuple(found), orders, seconds)


def _alerts(explainer: Explainer, num_accounts: int) -> NDArray[np.int64]:
    model, view = explainer.model, explainer.view
    if not isinstance(model, NodeModel) or model.threshold is None or not model.entry.exact:
        raise UsageError("--audit: needs a GTEA or hybrid model of accounts with two classes. Use another model.")
    start, stop = view.slot_ranges(np.arange(view.store.num_nodes))
    nodes = np.flatnonzero(stop - start >= _FEWEST)
    scores = model.scores(model.probabilities(view.store, view.cut, nodes))
    ranked = np.argsort(-scores, kind="stable")
    alerts = nodes[ranked[scores[ranked] >= model.threshold.value]]
    if not len(alerts):
        raise UsageError(
            f"--audit: no account with {_FEWEST} counterparties or more is an alert as of "
            f"{view.store.date(view.cut)}. Choose another --as-of."
        )
    return alerts[evenly_spaced(len(alerts), num_accounts)]


def _account(explainer: Explainer, node: int) -> AccountFidelity:
    started = time.perf_counter()
    scored = explainer.scored([node])
    seconds = time.perf_counter() - started
    count = len(scored.without)
    length = min(CURVE_LENGTH, count)
    weights = explainer.weights(scored.effects)
    # Of equal weights, and most are zero, those that come first in the store are no better than others.
    attention = np.lexsort((np.random.default_rng(0).permutation(count), -weights))
    draws = scored.scores(random_sets(count, length)).reshape(-1, length)
    curves = {
        "removal": _along(scored, scored.raising, length),
        "random": draws.mean(axis=0),
        "attention": _along(scored, attention, length),
        "greedy": _greedy(scored, length),
    }
    padded = {
        name: tuple(np.append(curve, np.repeat(curve[-1:], CURVE_LENGTH - length))) for name, curve in curves.items()
    }
    return AccountFidelity(
        explainer.store.account(node),
        scored.score,
        count,
        seconds,
        {name: tuple(map(float, curve)) for name, curve in padded.items()},
    )


def _along(scored: Scored, order: NDArray[np.int64], length: int) -> Floats:
    return scored.scores([order[: i + 1] for i in range(length)])


def _greedy(scored: Scored, length: int) -> Floats:
    chosen, left, curve = np.empty(0, dtype=np.int64), scored.raising[:_TRIED_PER_STEP], []
    for _ in range(length):
        scores = scored.scores([np.append(chosen, i) for i in left])
        best = int(scores.argmin())
        chosen, left = np.append(chosen, left[best]), np.delete(left, best)
        curve.append(scores[best])
    return np.array(curve)


def _summary(accounts: list[AccountFidelity], order: str) -> OrderSummary:
    curves = np.array([each.curves[order] for each in accounts])
    drops, drops_of_removal = _drops(accounts, order), _drops(accounts, "removal")
    ahead = (drops_of_removal > drops).mean() + 0.5 * (drops_of_removal == drops).mean()
    return OrderSummary(tuple(curves.mean(axis=0).tolist()), float(curves.mean()), float(drops.mean()), float(ahead))


def _drops(accounts: list[AccountFidelity], order: str) -> Floats:
    """The mean fall of the log-odds over the curve, for each account."""
    return np.array(
        [np.mean([log_odds(each.score) - log_odds(score) for score in each.curves[order]]) for each in accounts]
    )
