"""Batches of pairs: each pair's ends, and its own history as the view has it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gtea.config import FeaturesConfig
from gtea.features.pair_statistics import PAIR_STATISTICS
from gtea.features.preprocessing import fit_preprocessing
from gtea.sampling.collate import Collator
from gtea.sampling.pair_batches import PairCollator
from gtea.store.memory import store_in_memory
from gtea.store.store import Store

CUT = 40


def some_store(directed: bool) -> Store:
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 7, (2, 60))
    names = [f"a{i}" for i in range(7)]
    return store_in_memory(
        [names[i] for i in src],
        [names[j] for j in dst],
        np.arange(60),
        features={"amount": rng.normal(size=60)},
        directed=directed,
    )


def collator(store: Store, cut: int = CUT) -> Collator:
    return Collator(store.as_of(cut), fit_preprocessing(store.as_of(CUT)), fanout=3, max_events=0)


@pytest.mark.parametrize("directed", [False, True])
def test_each_pair_has_its_own_history_before_the_cut(directed: bool) -> None:
    store = some_store(directed)
    nodes = np.arange(store.num_nodes)
    src, dst = (ends.ravel() for ends in np.meshgrid(nodes, nodes))
    apart = src != dst
    src, dst = src[apart], dst[apart]
    pairs = PairCollator(collator(store), with_histories=True).batch(src, dst)
    assert pairs.histories is not None
    assert pairs.histories.num_edges == len(src)
    lengths = set()
    for i, (u, v) in enumerate(zip(src, dst, strict=True)):
        start, stop = pairs.histories.offset[i : i + 2].tolist()
        sent = store.as_of(CUT).history(store.account(int(u)), store.account(int(v))).sent
        assert (pairs.histories.features[start:stop, 0] == 1).tolist() == sent.tolist()
        lengths.add(stop - start)
    assert 0 in lengths
    assert len(lengths) > 2


def test_ends_are_places_among_distinct_seeds() -> None:
    store = some_store(directed=False)
    src, dst = np.array([5, 2, 5]), np.array([2, 6, 6])
    pairs = PairCollator(collator(store), with_histories=False).batch(src, dst)
    assert pairs.histories is None
    assert pairs.batch.num_within[0] == 3
    seeds = np.array([2, 5, 6])
    assert seeds[pairs.src].tolist() == src.tolist()
    assert seeds[pairs.dst].tolist() == dst.tolist()


def test_pairs_that_never_met_have_empty_histories() -> None:
    store = some_store(directed=False)
    pairs = PairCollator(collator(store, cut=0), with_histories=True).batch(np.array([0, 1]), np.array([1, 2]))
    assert pairs.histories is not None
    assert pairs.histories.offset.tolist() == [0, 0, 0]
    assert pairs.to("cpu").histories is not None


def test_statistics_are_ranked_and_each_pairs_own() -> None:
    store = some_store(directed=False)
    preprocessing = fit_preprocessing(store.as_of(CUT), FeaturesConfig(pair_statistics=True))
    asking = PairCollator(Collator(store.as_of(CUT), preprocessing, fanout=3), with_histories=True)
    src, dst = np.array([5, 2, 5, 0]), np.array([2, 6, 6, 1])
    ranks = asking.batch(src, dst).statistics
    assert ranks is not None
    assert ranks.shape == (4, len(PAIR_STATISTICS))
    assert bool(((ranks >= 0) & (ranks <= 1)).all())
    rows = preprocessing.pair_statistics_of(store.as_of(CUT)).rows(src, dst)
    assert preprocessing.pair_statistics is not None
    assert torch.equal(ranks, torch.from_numpy(preprocessing.pair_statistics.transform(rows)))
    alone = asking.batch(src[2:3], dst[2:3]).statistics
    assert alone is not None
    assert torch.equal(alone[0], ranks[2])
    assert PairCollator(collator(store), with_histories=True).batch(src, dst).statistics is None


def test_a_newcomer_is_not_taken_for_the_oldest_of_all() -> None:
    """Fitted when everybody was known, asked when one has been there longer than any then, and one is new."""
    store = store_in_memory(["old", "b", "old", "new"], ["b", "c", "c", "b"], [0, 5, 10, 100])
    preprocessing = fit_preprocessing(store.as_of(20), FeaturesConfig(pair_statistics=True))
    asking = PairCollator(Collator(store.as_of(100), preprocessing, fanout=3), with_histories=True)
    old, new, c = (store.node(name) for name in ("old", "new", "c"))
    ranks = asking.batch(np.array([old, new]), np.array([c, c])).statistics
    assert ranks is not None
    of_old, of_new = ranks[:, PAIR_STATISTICS.index("src_since_first")].tolist()
    assert of_old <= 1 - 1 / 16
    assert of_new == 1
