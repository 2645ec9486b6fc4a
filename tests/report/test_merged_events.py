from __future__ import annotations

import dataclasses

import numpy as np

from gtea.report.case import Case
from gtea.report.merged_events import merged_events


def test_a_long_history_keeps_sums_numbers_and_its_end(busy_case: Case) -> None:
    draw = np.random.default_rng(0)
    time, sent, amount = np.sort(draw.integers(0, 10**6, 5_000)), draw.random(5_000) < 0.5, draw.random(5_000)
    pair = dataclasses.replace(busy_case.pairs[0], time=time, sent=sent, amount=amount)
    times, amounts, codes = merged_events(pair, most=100)
    assert len(times) <= 100
    assert (np.diff(times) >= 0).all()
    assert (codes // 2 + 1).sum() == 5_000
    for side in (0, 1):
        assert np.isclose(amounts[codes % 2 == side].sum(), amount[sent == side].sum())
    assert times[-50:].tolist() == time[-50:].tolist()


def test_a_short_history_stays_as_it_is(busy_case: Case) -> None:
    pair = busy_case.pairs[3]
    times, amounts, codes = merged_events(pair)
    assert times.tolist() == pair.time.tolist()
    assert amounts.tolist() == pair.amount.tolist()
    assert codes.tolist() == pair.sent.astype(int).tolist()
