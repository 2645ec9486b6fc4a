"""Cases without a model: real stores, made-up effects. What pages do with numbers does not depend on who made them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gtea.explain.explanation import (
    BurstEffect,
    Counterparty,
    Explanation,
    Opinions,
    RandomCurve,
    StatisticEffect,
    WhatIf,
    ZeroWeight,
    log_odds,
)
from gtea.report.case import Case, case_of
from gtea.report.common_facts import CommonFacts
from gtea.report.dealings import Dealings, dealings_of
from gtea.report.known_labels import KnownLabels
from gtea.report.ranking import Expected
from gtea.report.standing_figure import score_counts
from gtea.store.memory import store_in_memory
from gtea.store.store import Store
from gtea.tasks.uncertainty import Interval

NOON = 1_700_000_000


def busy_store(num_partners: int = 40, *, seed: int = 0, names: list[str] | None = None, unit: Any = "s") -> Store:
    """One account that deals with all others, who also deal with each other."""
    draw = np.random.default_rng(seed)
    others = names or [f"0x{draw.bytes(20).hex()}" for _ in range(num_partners)]
    rows: list[tuple[str, str, int, float]] = []
    for place, other in enumerate(others):
        start = int(draw.integers(0, 200 * 86_400))
        for gap in draw.exponential(20_000 if place % 3 else 2_000, 1 + place % 9):
            start += int(gap)
            ends = ("me", other) if draw.random() < 0.3 + 0.4 * (place % 2) else (other, "me")
            rows.append((*ends, NOON + start, float(draw.lognormal(2, 1))))
        if place % 4 == 0:
            rows.append((other, others[(place + 7) % len(others)], NOON + start, 3.0))
            rows.append((other, "outside", NOON + start, 3.0))
    columns = list(zip(*rows, strict=True))
    return store_in_memory(
        *(list(column) for column in columns[:3]), features={"amount": np.array(columns[3])}, unit=unit
    )


def explained(store: Store, account: str = "me", *, seed: int = 1, score: float = 0.973) -> Explanation:
    """An explanation of the right shape, with effects from a generator."""
    view = store.as_of()
    column = "amount" if "amount" in store.features else None
    dealings = dealings_of(view, store.node(account), column)
    draw = np.random.default_rng(seed)
    effects = np.sort(draw.exponential(0.4, len(dealings.partners)))[::-1] * draw.choice(
        [1, -1], len(dealings.partners), p=[0.8, 0.2]
    )
    weights = draw.exponential(1, len(effects)) * (draw.random(len(effects)) < 0.8)
    weights /= max(weights.sum(), 1e-9)
    order = draw.permutation(len(effects))
    counterparties = tuple(
        _counterparty(store, dealings, int(place), score, float(effect), float(weight), strong=rank < 12)
        for rank, (place, effect, weight) in enumerate(zip(order, effects, weights, strict=True))
    )
    curve = tuple(
        _probability(log_odds(score) - float(np.abs(effects[: k + 1]).sum())) for k in range(min(12, len(order)))
    )
    return Explanation(
        account=account,
        pair=None,
        as_of=store.date(view.cut),
        cut=view.cut,
        label="illicit",
        score=score,
        log_odds=log_odds(score),
        threshold=0.861,
        alert=True,
        active=bool(len(order)),
        opinions=Opinions(0.981, 0.962),
        amount_column=column,
        counterparties=counterparties,
        num_counterparties=len(counterparties),
        zero_weight=ZeroWeight(int((weights == 0).sum())),
        own_statistics=(
            StatisticEffect("both_left", 0.003, 0.2, 98.0, 0.93, 0.61, "forwards 99.7 % of what it receives"),
            StatisticEffect("in_partners", 32, 2, 99.0, 0.95, 0.42, "paid by 32 accounts; more than 99 % of accounts"),
        ),
        what_if=WhatIf(tuple(each.account for each in counterparties[:2]), 0.61, False, True)
        if len(order) > 1
        else None,
        removed=tuple(each.account for each in counterparties[: len(curve)]),
        removal_curve=curve,
        random_curve=RandomCurve(tuple(score - 0.003 * k for k in range(len(curve))), (0.01,) * len(curve)),
        model_digest="sha256:" + "8f0c" * 16,
        data_digest=f"sha256:{store.digest}",
    )


def made_up_facts(store: Store, account: str = "me", score: float = 0.973) -> CommonFacts:
    """A report's context with made-up scores for everybody else."""
    scores = np.random.default_rng(5).beta(0.5, 4, store.num_nodes) * 0.95
    scores[store.node(account)] = score
    most = min(200, store.num_nodes)
    return CommonFacts(
        "phishing.model",
        "payments.store",
        tuple(score_counts(scores).tolist()),
        store.num_nodes,
        Expected("test", 336, tuple(Interval(0.9 - 0.001 * k, 0.8, 0.95) for k in range(most))),
        num_read=64,
        positive="illicit",
        version="0.2.0",
    )


def made_up_case(store: Store, account: str = "me", **options: Any) -> Case:
    """A case with made-up effects."""
    labels = KnownLabels(store, None)
    return case_of(made_up_facts(store, account), labels, explained(store, account, **options), store, 1)


def _counterparty(
    store: Store, dealings: Dealings, place: int, score: float, effect: float, weight: float, *, strong: bool
) -> Counterparty:
    events = dealings.of(place)
    sent, amount, time = dealings.sent[events], dealings.amount[events], dealings.time[events]
    sums = [float(amount[sent == side].sum()) for side in (False, True)]
    without = _probability(log_odds(score) - effect)
    ends = store.date(int(time[0])), store.date(int(time[-1]))
    burst = BurstEffect(ends[0], ends[1], len(time), sums[0], sums[1], without, effect)
    return Counterparty(
        store.account(int(dealings.partners[place])),
        "me",
        without,
        effect,
        weight,
        len(time),
        sums[0],
        sums[1],
        ends[0],
        ends[1],
        bursts=(burst,) if strong and len(time) > 3 else (),
    )


def _probability(value: float) -> float:
    return 1 / (1 + math.exp(-value))
