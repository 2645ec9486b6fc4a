"""Pairs that read their events one by one know what pairs know that read them at once."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
import torch
from tests.live.streams import frame_of, random_model, rows_at, store_of_rows

from gtea.live.event_rows import EventReader
from gtea.live.growing_store import GrowingStore
from gtea.live.pair_states import PairStates
from gtea.sampling.collate import HistoryReader
from gtea.store.schema import Schema

FEW = ["b", "d", "f"]


@pytest.mark.parametrize("max_events", [0, 3, 64])
@pytest.mark.parametrize("name", ["gtea-l", "gtea-l+t", "gtea-tx+t", "gtea-he"])
def test_step_by_step_or_at_once(name: str, max_events: int) -> None:
    generator = np.random.default_rng(1)
    base = store_of_rows(rows_at(generator, 12, FEW, 100, 110, 2), directed=False)
    model = random_model(base, generator, name, max_events=max_events)
    reader = EventReader(Schema.from_json(base.manifest.schema), allow_any_date=True)
    store, encoder = GrowingStore(base), model.gtea.edge_encoder
    stepwise, at_once = PairStates(encoder, max_events), PairStates(encoder, max_events)
    for _ in range(8):
        batch = frame_of(rows_at(generator, 3, FEW, 105, 140, 2))
        added = store.add(store.numbered(reader.frame(batch, store.unit)))
        graph = store.graph()
        histories = HistoryReader(store.as_of(store.end), model.preprocessing, max_events)
        for states in (stepwise, at_once):
            states.grow(len(graph.edge_a))
        stepwise.forget(np.unique(added.edge[added.late]))
        stepwise.encode(histories, graph, np.unique(added.edge))
    everything = np.arange(len(graph.edge_a))
    at_once.encode(histories, graph, everything, keep=False)
    touched = np.flatnonzero(stepwise.logits(2 * everything).numpy())
    assert len(touched)
    for pairs in (2 * touched, 2 * touched + 1):
        torch.testing.assert_close(stepwise.e_tilde(pairs), at_once.e_tilde(pairs), atol=1e-6, rtol=0)
        torch.testing.assert_close(stepwise.logits(pairs), at_once.logits(pairs), atol=1e-5, rtol=0)


def test_states_that_are_not_needed_make_room_for_others() -> None:
    generator = np.random.default_rng(2)
    base = store_of_rows(rows_at(generator, 40, FEW, 100, 110, 2), directed=False)
    model = random_model(base, generator, "gtea-l", max_events=64)
    store = GrowingStore(base)
    graph, histories = store.graph(), HistoryReader(store.as_of(store.end), model.preprocessing, 64)
    states = PairStates(model.gtea.edge_encoder, 64)
    edges = np.arange(len(graph.edge_a))
    states.grow(len(edges))
    states.encode(histories, graph, edges)
    size = states.num_bytes
    for _ in range(5):
        states.forget(edges)
        states.encode(histories, graph, edges)
    assert states.num_bytes == size


def test_a_million_steps_do_not_drift() -> None:
    """The state after many single steps is that of one pass: nothing is added up that could drift."""
    generator = np.random.default_rng(3)
    base = store_of_rows(rows_at(generator, 12, FEW, 100, 110, 2), directed=False)
    model = random_model(base, generator, "gtea-l+t", max_events=0)
    encoder = cast(Any, model.gtea.edge_encoder).enc_i
    d_in = encoder.w[0].shape[1]
    events = torch.randn(1_000_000, d_in, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        state, many = encoder.initial_state(1_000), torch.arange(1_001)
        for step in range(1_000):  # a thousand pairs at a time
            state = encoder.advance(events[step::1_000], many, state)
        whole = encoder(events.reshape(1_000, 1_000, d_in).reshape(-1, d_in), torch.arange(0, 1_000_001, 1_000))
    torch.testing.assert_close(state.h[-1], whole, atol=1e-5, rtol=0)
