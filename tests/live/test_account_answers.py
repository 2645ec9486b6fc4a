"""Answers are those of the model, and what they read is known."""

from __future__ import annotations

import numpy as np
import pytest
from tests.live.streams import ALL_MODELS, NAMES, random_model, rows_at, store_of_rows

from gtea.live.account_answers import AccountAnswers
from gtea.live.live_scorer import LiveScorer


@pytest.mark.parametrize("name", ["gtea-l+t", "hybrid"])
def test_at_the_start_answers_are_those_of_the_model(name: str) -> None:
    generator = np.random.default_rng(1)
    store = store_of_rows(rows_at(generator, 60, NAMES, 100, 140, 2), directed=False)
    model = random_model(store, generator, name)
    scorer = LiveScorer(model, store)
    everybody = np.arange(store.num_nodes)
    found = scorer._answers.probabilities(everybody, scorer._states)
    np.testing.assert_allclose(found, model.probabilities(store, store.end, everybody), atol=1e-6)


@pytest.mark.parametrize("name", ALL_MODELS)
def test_what_answers_read(name: str) -> None:
    generator = np.random.default_rng(2)
    store = store_of_rows(rows_at(generator, 60, NAMES, 100, 140, 2), directed=False)
    view = store.as_of(store.end)
    plain = AccountAnswers(random_model(store, generator, name, nodes=("statistics",), recency=False), view)
    assert not plain.reads_recency
    assert not plain.features_read_partners
    assert plain.reads_partners or name != "hybrid"
    wide = AccountAnswers(random_model(store, generator, name, nodes=("statistics", "partners"), recency=True), view)
    assert wide.reads_recency
    assert wide.features_read_partners
