from __future__ import annotations

import math

import pytest

from gtea.explain.explanation import log_odds


def test_log_odds_are_finite() -> None:
    assert log_odds(0.5) == 0
    assert log_odds(0.8) == pytest.approx(math.log(4))
    assert log_odds(1.0) == pytest.approx(27.6, abs=0.1)
    assert log_odds(0.0) == pytest.approx(-27.6, abs=0.1)
