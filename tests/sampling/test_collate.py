from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from gtea.config import FeaturesConfig, RunConfig
from gtea.config.run_config import NodeKind
from gtea.errors import UsageError
from gtea.features.preprocessing import fit_preprocessing, input_spec, preprocessing_for
from gtea.nn.batch import Batch
from gtea.sampling.collate import Collator, distinct
from gtea.sampling.neighbours import Strategy
from gtea.sampling.tabular import NodeRows
from gtea.store.store import Store

KINDS: tuple[NodeKind, ...] = ("given", "statistics", "random")


def tree(batch: Batch, place: int, depth: int) -> Any:
    """All that a seed's output can depend on, unrolled: features, then each neighbour's history and its own tree."""
    own = batch.node_features[place].numpy().tobytes()
    if depth == 0:
        return own
    branches = []
    for neighbour, edge in zip(batch.neighbour[place].tolist(), batch.edge[place].tolist(), strict=True):
        if neighbour >= 0:
            rows = slice(int(batch.histories.offset[edge]), int(batch.histories.offset[edge + 1]))
            history = batch.histories.time[rows].numpy().tobytes(), batch.histories.features[rows].numpy().tobytes()
            branches.append((history, tree(batch, neighbour, depth - 1)))
    return own, branches


@pytest.fixture
def make(random_store: Callable[..., Store]) -> Callable[..., Collator]:
    def collator(cut: int = 150, **settings: Any) -> Collator:
        view = random_store().as_of(cut)
        preprocessing = fit_preprocessing(view, FeaturesConfig(d_random=4), kinds=KINDS)
        return Collator(view, preprocessing, **{"fanout": 3, "seed": 1, **settings})

    return collator


def test_a_batch_is_what_the_contract_says(make: Callable[..., Collator]) -> None:
    collator = make(num_layers=3, max_events=5)
    batch = collator.batch(np.array([4, 8, 15]), epoch=2)
    assert batch.num_layers == 3
    assert batch.num_within[0] == 3
    assert batch.node_features.shape == (batch.num_within[-1], collator.preprocessing.d_node)
    assert batch.neighbour.shape == batch.edge.shape == (batch.num_within[-2], 3)
    assert batch.histories.features.shape == (batch.histories.num_events, collator.preprocessing.d_event)
    assert int(batch.edge.max()) == batch.histories.num_edges - 1
    assert batch.histories.offset.diff().min() >= 1
    assert batch.histories.offset.diff().max() <= 5
    floats = (batch.node_features, batch.histories.time, batch.histories.features)
    assert {tensor.dtype for tensor in floats} == {torch.float32}
    assert {tensor.dtype for tensor in (batch.neighbour, batch.edge, batch.histories.offset)} == {torch.int64}
    assert all(torch.isfinite(tensor).all() for tensor in floats)


@pytest.mark.parametrize("strategy", ["uniform", "recent"])
def test_what_a_seed_is_given_does_not_depend_on_the_batch(make: Callable[..., Collator], strategy: Strategy) -> None:
    collator = make(strategy=strategy)
    seeds = np.arange(10)
    together, backwards = collator.batch(seeds, 3), collator.batch(seeds[::-1], 3)
    for i in seeds.tolist():
        alone = tree(collator.batch(np.array([i]), 3), 0, 2)
        assert tree(together, i, 2) == alone
        assert tree(backwards, 9 - i, 2) == alone


def test_the_same_call_gives_the_same_bytes(make: Callable[..., Collator]) -> None:
    first, second = make().batch(np.arange(10), 3), make().batch(np.arange(10), 3)
    for name in ("node_features", "neighbour", "edge"):
        assert torch.equal(getattr(first, name), getattr(second, name))
    assert torch.equal(first.histories.features, second.histories.features)
    assert not torch.equal(first.histories.time, make().batch(np.arange(10), 4).histories.time)


def test_a_batch_in_an_empty_past(make: Callable[..., Collator]) -> None:
    batch = make(cut=0).batch(np.arange(5))
    assert batch.num_within == (5, 5, 5)
    assert (batch.neighbour == -1).all()
    assert batch.histories.offset.tolist() == [0]
    assert torch.isfinite(batch.node_features).all()


def test_histories_cannot_have_a_negative_length(make: Callable[..., Collator]) -> None:
    with pytest.raises(UsageError, match=r"max_events: must not be negative \(got -1\)"):
        make(max_events=-1)


def test_distinct() -> None:
    seeds, (left, right) = distinct(np.array([5, 3, 5]), np.array([9, 3]))
    assert seeds.tolist() == [3, 5, 9]
    assert seeds[left].tolist() == [5, 3, 5]
    assert seeds[right].tolist() == [9, 3]


def test_seeds_have_their_features_as_ranks_where_these_are_asked_for(random_store: Callable[..., Store]) -> None:
    view = random_store().as_of(150)
    preprocessing = fit_preprocessing(view, FeaturesConfig(rank_inputs=True), kinds=("given", "statistics"))
    collator = Collator(view, preprocessing, fanout=3)
    batch = collator.batch(np.array([4, 8, 15]))
    assert batch.head_inputs is not None
    assert batch.head_inputs.shape == (3, preprocessing.d_node)
    assert bool(((batch.head_inputs >= 0) & (batch.head_inputs <= 1)).all())
    assert preprocessing.rank_inputs is not None
    ranks = preprocessing.rank_inputs.transform(batch.node_features[:3].numpy())
    assert torch.equal(batch.head_inputs, torch.from_numpy(ranks))
    alone = collator.batch(np.array([15])).head_inputs
    assert alone is not None
    assert torch.equal(alone[0], batch.head_inputs[2])
    assert len(batch.head_inputs.unique()) > 10
    assert batch.to("cpu").head_inputs is not None


def test_seeds_have_what_trees_read_where_it_is_asked_for(random_store: Callable[..., Store]) -> None:
    store = random_store()
    fitted = preprocessing_for(store, 150, RunConfig(), for_trees=True)
    seeds = np.array([7, 2, 11])
    batch = Collator(store.as_of(150), fitted, fanout=3, num_layers=2, with_tree_inputs=True).batch(seeds)
    assert batch.tree_inputs is not None
    assert torch.equal(batch.tree_inputs, NodeRows(store.as_of(150), fitted).batch(seeds))
    assert batch.tree_inputs.shape == (3, input_spec(fitted).d_tree_inputs)
    moved = batch.to(torch.device("cpu")).tree_inputs
    assert moved is not None
    assert torch.equal(moved, batch.tree_inputs)
    assert Collator(store.as_of(150), fitted, fanout=3).batch(seeds).tree_inputs is None
