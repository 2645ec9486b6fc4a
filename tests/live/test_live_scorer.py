"""After any stream, live scores are those of a store with all the events."""

from __future__ import annotations

import os

import numpy as np
import pytest
from tests.live.streams import ALL_MODELS, NAMES, NEW, frame_of, random_model, rows_at, scored_anew, store_of_rows

from gtea.live.live_scorer import LiveScorer

STREAMS = int(os.environ.get("GTEA_LIVE_STREAMS", "10"))
"""How many streams each model is tried on. 200 make 1,200 in all."""


@pytest.mark.parametrize("name", ALL_MODELS)
def test_it_is_scoring_anew_after_any_stream(name: str) -> None:
    for seed in range(STREAMS):
        follow_a_stream(name, seed)


def follow_a_stream(name: str, seed: int) -> None:
    generator = np.random.default_rng([seed, ALL_MODELS.index(name)])
    directed, loops = bool(generator.integers(2)), bool(generator.integers(2))
    names = NAMES + ([f"n{i}" for i in range(15)] if generator.integers(2) else [])
    rows = rows_at(generator, int(generator.integers(1, 60)), names, 100, 130, 2)
    base = store_of_rows(rows, directed=directed, loops=loops)
    model = random_model(base, generator, name)
    bound = [0, 3, None][int(generator.integers(3))]
    scorer = LiveScorer(model, base, per_update=bound, allow_any_date=True)
    for _ in range(int(generator.integers(1, 5))):
        # Late ones among them, some before everything else.
        batch = rows_at(generator, int(generator.integers(1, 12)), [*names, *NEW], 95, 160, 4)
        rows = rows + batch
        changes = scorer.update(frame_of(batch))
        if generator.integers(2):
            continue
        anew = scored_anew(model, rows, directed=directed, loops=loops)
        wrong = [(a, s, anew[a]) for a, s in zip(changes.accounts, changes.new, strict=True) if abs(s - anew[a]) > 1e-6]
        assert wrong == [], (name, seed, "returned")
        some = [account for account in (names[0], names[-1], "m") if account in anew]
        np.testing.assert_allclose(scorer.score(some), [anew[a] for a in some], atol=1e-6, err_msg=f"{name} {seed}")
    anew = scored_anew(model, rows, directed=directed, loops=loops)
    table = scorer.top(len(anew) + 5)
    found = dict(zip(table["account"].to_pylist(), table["score"].to_pylist(), strict=True))
    assert set(found) == set(anew)
    worst = max((abs(found[account] - anew[account]), account) for account in anew)
    assert worst[0] <= 1e-6, (name, seed, worst)
    assert scorer.pending == 0
