"""Accounts are computed with what they need, in parts of any size, and within the limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.live.streams import NAMES, random_model, rows_at, store_of_rows

from gtea.live import account_states
from gtea.live.account_states import AccountStates
from gtea.live.growing_store import GrowingStore
from gtea.live.pair_states import PairStates
from gtea.sampling.collate import HistoryReader


def ready(seed: int, **chosen: Any) -> tuple[AccountStates, Any, Any, Any, Any]:
    generator = np.random.default_rng(seed)
    base = store_of_rows(rows_at(generator, 60, NAMES, 100, 140, 2), directed=False)
    model = random_model(base, generator, "gtea-l", nodes=("random",), recency=False, max_events=4, **chosen)
    store = GrowingStore(base)
    graph, histories = store.graph(), HistoryReader(store.as_of(store.end), model.preprocessing, 4)
    pairs = PairStates(model.gtea.edge_encoder, 4)
    pairs.grow(base.num_edges)
    pairs.encode(histories, graph, np.arange(base.num_edges), keep=False)
    states = AccountStates(model.gtea, pairs, model.preprocessing.d_node)
    states.grow(base.num_nodes)
    states.count_all(graph)
    from gtea.features.node_features import NodeFeatures

    return states, graph, NodeFeatures(base.as_of(base.end), model.preprocessing.nodes).compute, model, base


@pytest.mark.parametrize(("rows", "slots"), [(1, 1), (3, 4), (4_096, 65_536)])
def test_parts_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch, rows: int, slots: int) -> None:
    monkeypatch.setattr(account_states, "_MOST_ROWS", rows)
    monkeypatch.setattr(account_states, "_MOST_SLOTS", slots)
    states, graph, describe, model, base = ready(1, num_layers=2)
    everybody = np.arange(base.num_nodes)
    assert states.compute(graph, everybody, describe).tolist() == everybody.tolist()
    expected = model.embeddings(base, base.end, everybody)
    np.testing.assert_allclose(states.z(everybody).numpy(), expected, atol=1e-5)


def test_only_what_is_needed_is_described() -> None:
    states, graph, describe, _, base = ready(2, num_layers=2, attention="sparsemax")
    asked: list[int] = []

    def watched(nodes: NDArray[np.int64]) -> NDArray[np.float32]:
        asked.extend(nodes.tolist())
        rows: NDArray[np.float32] = describe(nodes)
        return rows

    states.compute(graph, np.array([base.node("q")]), watched)
    assert len(asked) == len(set(asked))
    states.compute(graph, np.arange(base.num_nodes), watched)
    assert sorted(asked) == list(range(base.num_nodes))
    states.compute(graph, np.arange(base.num_nodes), watched)
    assert len(asked) == base.num_nodes


def test_accounts_beyond_the_limit_and_those_that_need_them_wait() -> None:
    states, graph, describe, _, base = ready(3, num_layers=2, attention="softmax")
    everybody, hub = np.arange(base.num_nodes), base.node("b")
    degree = np.array([base.as_of(base.end).degree(int(node)) for node in everybody])
    most = int(sorted(states.arrays()["num_events"])[-2])
    done = states.compute(graph, everybody, describe, most)
    assert hub not in done
    partners = {int(v) for v in base.as_of(base.end).neighbours("b").nodes}
    assert not partners & set(done.tolist())
    assert set(everybody[degree == 0]) <= set(done.tolist())
    assert states.compute(graph, everybody, describe).tolist() == everybody.tolist()


def test_what_was_saved_must_fit() -> None:
    states, _, _, _, base = ready(4)
    saved = {name: array.copy() for name, array in states.arrays().items()}
    states.restore(saved, base.num_nodes)
    with pytest.raises(ValueError, match="it has other accounts"):
        states.restore(saved | {"level": saved["level"][1:]}, base.num_nodes)
