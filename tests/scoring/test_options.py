"""How scores are computed."""

from __future__ import annotations

from pathlib import Path

import pytest

from gtea.errors import UsageError
from gtea.scoring.options import EXACT, ScoringOptions


def test_exact_is_the_default_and_only_it_has_a_cache() -> None:
    assert not EXACT.sampled
    assert ScoringOptions() == EXACT
    assert ScoringOptions(cache=Path("c")).cache == Path("c")
    with pytest.raises(UsageError, match="--sampled, --cache: give one of them at most"):
        ScoringOptions(sampled=True, cache=Path("c"))
