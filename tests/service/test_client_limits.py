from __future__ import annotations

import time

import pytest

from gtea.service.client_limits import RateLimit


def test_each_address_has_a_rate_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    rate = RateLimit(5)
    assert [rate.allows("a") for _ in range(12)] == [True] * 10 + [False] * 2
    assert rate.allows("b")
    now += 0.5
    assert [rate.allows("a") for _ in range(4)] == [True, True, False, False]
    now += 0.2
    assert rate.allows("a", 0.0)
    assert rate.allows("a")
    assert not rate.allows("a", 0.0)


def test_many_addresses_take_no_memory() -> None:
    rate = RateLimit(1)
    for number in range(20_500):
        rate.allows(str(number))
    assert len(rate._left) <= 10_000
