"""After any stream, live scores are those of a store with all the events."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.live.streams import (
    ALL_MODELS,
    NAMES,
    NEW,
    frame_of,
    random_model,
    rows_at,
    scored_anew,
    store_of_rows,
    store_on_disk,
)

from gtea.errors import DataError, ModelError, UsageError
from gtea.ingestion.append import append
from gtea.live.live_scorer import LiveScorer
from gtea.store.store import Store

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


def test_it_is_append_and_score(tmp_path: Path) -> None:
    """The real append, and a delivery in a finer unit of time."""
    generator = np.random.default_rng(11)
    store = store_on_disk(rows_at(generator, 40, NAMES, 100, 130, 2), tmp_path / "store")
    model = random_model(store, generator, "hybrid", nodes=("statistics",), recency=False)
    scorer = LiveScorer(model, store, allow_any_date=True)
    for i in range(3):
        frame = frame_of(rows_at(generator, 8, [*NAMES, *NEW], 110, 150, 4))
        if i == 1:
            times = pa.array([time + 0.25 for time in frame["time"].to_pylist()])
            frame = frame.set_column(2, "time", times)
        scorer.update(frame)
        append(tmp_path / "store", frame, allow_any_date=True, on_duplicate="keep")
        grown = Store.open(tmp_path / "store")
        scores = model.scores(model.probabilities(grown, grown.end, np.arange(grown.num_nodes)))
        np.testing.assert_allclose(scorer.score(grown.accounts.to_arrow().to_pylist()), scores, atol=1e-6)


def test_changes_say_what_happened() -> None:
    generator = np.random.default_rng(12)
    store = store_of_rows(rows_at(generator, 40, NAMES, 100, 130, 2), directed=False, loops=False)
    model = random_model(store, generator, "gtea-l", nodes=("statistics",), recency=False, num_layers=2)
    scorer = LiveScorer(model, store, allow_any_date=True, per_update=0)
    before = dict(zip(NAMES[:2], scorer.score(NAMES[:2]), strict=True))
    rows = [
        ("b", "d", 131, 3.0, "card"),
        ("new", "b", 90, 1.0, "cash"),
        ("b", "d", 100, 2.0, "card"),
        ("q", "q", 1, 1.0, "card"),
    ]
    changes = scorer.update(frame_of(rows))
    assert (changes.num_events, changes.self_loops, scorer.num_events) == (3, 1, 3)
    assert changes.late >= 1
    table = changes.to_arrow().to_pylist()
    assert {row["account"] for row in table} <= {"b", "d", "new", "q"}
    assert {row["account"]: row["old"] for row in table if row["account"] in before} == pytest.approx(before)
    assert [row["old"] for row in table if row["account"] == "new"] == [None]
    assert changes.pending == scorer.pending > 0
    assert len(scorer.settle()) > 0
    assert scorer.pending == 0
    assert scorer.num_accounts == store.num_nodes + 1
    assert scorer.num_bytes > 0
    assert len(scorer.update(frame_of([]).cast(frame_of(rows).schema))) == 0


def test_an_update_computes_what_is_read_with_it_and_some_in_turn() -> None:
    generator = np.random.default_rng(14)
    rows = rows_at(generator, 60, NAMES, 100, 130, 2)
    store = store_of_rows(rows, directed=False)
    model = random_model(store, generator, "hybrid", nodes=("statistics",), recency=False, num_layers=2)
    event = ("b", "d", 140, 3.0, "card")
    pending = []
    choices: list[dict[str, Any]] = [
        {},
        {"most": 0},
        {"most": 0, "also": ["f", "nobody knows"]},
        {"most": 0, "in_turn": 4},
        {"most": 300},
    ]
    for options in choices:
        scorer = LiveScorer(model, store, allow_any_date=True)
        record = scorer.reader.record(dict(zip(["src", "dst", "time", "amount", "kind"], event, strict=True)))
        changes = scorer.update_records([record], **options)
        assert {"b", "d"} <= set(changes.accounts)
        pending.append(scorer.pending)
        anew = scored_anew(model, [*rows, event], directed=False, loops=True)
        for account, score in zip(changes.accounts, changes.new, strict=True):
            assert abs(score - anew[account]) <= 1e-6
    assert pending[0] == pending[4] == 0 < pending[1]
    assert pending[2] == pending[1] - 1
    assert pending[1] - 4 <= pending[3] <= pending[1] - 2  # the ends of the event may be among the four


def test_what_is_refused() -> None:
    generator = np.random.default_rng(13)
    store = store_of_rows(rows_at(generator, 40, NAMES, 100, 130, 2), directed=False)
    model = random_model(store, generator, "gtea-l", nodes=("statistics",))
    scorer = LiveScorer(model, store)
    with pytest.raises(DataError, match="'nowhere': no such account in the store or the stream"):
        scorer.score(["nowhere"])
    with pytest.raises(UsageError, match="per_update: must not be negative"):
        LiveScorer(model, store, per_update=-1)
    model.entry = dataclasses.replace(model.entry, exact=False)
    with pytest.raises(ModelError, match="live scores: the model must be a GTEA or a hybrid"):
        LiveScorer(model, store)
