"""Nothing made from ``as_of(t)`` knows anything at or after t: not one byte changes when the future does."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.properties.graphs import CUT, FUTURE, PAST, Event, columns, futures, in_memory, pasts, random_events
from torch import Tensor

from gtea.config import FeaturesConfig, RunConfig
from gtea.features.account_statistics import statistics
from gtea.features.neighbour_labels import neighbour_labels_of
from gtea.features.partner_statistics import PartnerStatistics
from gtea.features.preprocessing import Preprocessing, fit_events, preprocessing_for
from gtea.features.rhythm_statistics import rhythm_statistics
from gtea.ingestion.ingest import ingest
from gtea.nn.batch import Batch
from gtea.sampling.collate import Collator
from gtea.sampling.event_batches import EventCollator
from gtea.sampling.negatives import NegativeSampler
from gtea.sampling.neighbours import Strategy
from gtea.sampling.pair_batches import ranked_statistics
from gtea.sampling.tabular import NodeRows, PairRecency, PairRows
from gtea.store.account_keys import keys_of_nodes
from gtea.store.view import View


def everything(view: View, *, strategy: Strategy, max_events: int) -> list[Any]:
    """All that a model could be given, as bytes and in words that don't depend on the store's numbering."""
    nodes = np.array([view.store.node(account) for account in PAST])
    preprocessing = fitted(view, nodes)
    made = [preprocessing, statistics(view, nodes).tobytes(), keys_of_nodes(view.store, nodes).tobytes()]
    made += [PartnerStatistics(view).rows(nodes).tobytes(), rhythm_statistics(view, nodes).tobytes()]
    collator = Collator(
        view,
        preprocessing,
        fanout=2,
        num_layers=2,
        max_events=max_events,
        strategy=strategy,
        seed=5,
        with_degrees=True,
        with_tree_inputs=True,
    )
    for epoch in range(2):
        batch = collator.batch(nodes, epoch)
        made += [batch.num_within, *(tensor.numpy().tobytes() for tensor in tensors_of(batch))]
    return [*made, *for_baselines(view, nodes, preprocessing, strategy), negatives(view, nodes)]


def fitted(view: View, nodes: NDArray[np.int64]) -> Preprocessing:
    """With everything that any model may read: also what trees read, and labels of every other account."""
    features = FeaturesConfig(
        ("given", "statistics", "random"),
        d_random=3,
        recency=True,
        pair_statistics=True,
        rank_inputs=True,
        neighbour_labels=True,
    )
    labels = neighbour_labels_of(view.store, nodes[::2], np.arange(len(nodes[::2])) % 2, ["bad", "good"])
    found = preprocessing_for(view.store, view.cut, RunConfig(features=features), for_trees=True, labels=labels)
    return dataclasses.replace(found, events=fit_events(view, max_words=3))


def tensors_of(batch: Batch) -> list[Tensor]:
    """Every tensor of a batch, so that none that is added one day is forgotten here."""
    fields = [getattr(batch, field.name) for field in dataclasses.fields(batch)] + [*vars(batch.histories).values()]
    others = [value for value in fields if not isinstance(value, Tensor)]
    assert others == [batch.num_within, batch.histories], "a field that is neither compared nor known"
    return [value for value in fields if isinstance(value, Tensor)]


def for_baselines(view: View, nodes: NDArray[np.int64], preprocessing: Preprocessing, strategy: Strategy) -> list[Any]:
    """What the baselines are given beyond that: single events, and rows of numbers."""
    events = EventCollator(view, preprocessing, fanout=2, num_layers=2, strategy=strategy).batch(nodes, epoch=1)
    tensors = [events.node_features, events.reached, events.age, events.event_features]
    tensors += [NodeRows(view, preprocessing).batch(nodes)]
    src, dst = (ends.ravel() for ends in np.meshgrid(nodes, nodes))
    tensors += [rows(view, preprocessing).batch(src, dst) for rows in (PairRows, PairRecency)]
    ranked = ranked_statistics(view, preprocessing)
    assert ranked is not None
    tensors += [ranked(src, dst)]
    return [events.num_within, *(tensor.numpy().tobytes() for tensor in tensors)]


def negatives(view: View, nodes: NDArray[np.int64]) -> list[str]:
    sampler = NegativeSampler(view, seed=5)
    free = [node for node in nodes if set(sampler.candidates) - set(view.neighbours(int(node)).nodes) - {node}]
    drawn = sampler.draw(np.array(free, dtype=np.int64), np.arange(len(free)), epoch=1)
    return [view.store.account(int(node)) for node in [*drawn, *sampler.candidates]]


@pytest.mark.slow
@settings(max_examples=1_000, deadline=None)
@given(
    past=pasts,
    one=futures,
    other=futures,
    directed=st.booleans(),
    strategy=st.sampled_from(["uniform", "recent"]),
    max_events=st.sampled_from([0, 1, 3]),
)
def test_the_future_leaks_nowhere(
    past: list[Event], one: list[Event], other: list[Event], directed: bool, strategy: Strategy, max_events: int
) -> None:
    first = in_memory([*past, *one], directed=directed, extra_nodes=False).as_of(CUT)
    second = in_memory([*other, *past], directed=directed, extra_nodes=True).as_of(CUT)
    made = everything(first, strategy=strategy, max_events=max_events)
    assert everything(second, strategy=strategy, max_events=max_events) == made


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("strategy", ["uniform", "recent"])
def test_the_future_leaks_nowhere_from_disk(tmp_path: Path, directed: bool, strategy: Strategy) -> None:
    """The same through ingest, where later rows with fractions of a second even change the unit of stored times."""
    generator = np.random.default_rng(directed)
    past = random_events(generator, PAST, ["card", "wire"], 0, CUT, 150)
    future = random_events(generator, FUTURE, ["atm", "zap"], CUT, 2 * CUT, 60)
    made = []
    for name, rows, fraction in (("none", past, 0), ("some", past + future, 0), ("finer", future + past, 0.25)):
        table = columns(rows)
        times = [1_600_000_000 + time + (fraction if time >= CUT else 0) for time in table.pop("time")]
        store = ingest(
            pa.table({**table, "time": times}),
            src="src",
            dst="dst",
            time="time",
            features=["amount"],
            categorical=["kind"],
            nodes=pa.table({"id": PAST, "x": np.arange(8.0), "y": np.ones(8)}),
            node_id="id",
            node_features=["x", "y"],
            time_unit="s",
            directed=directed,
            out=tmp_path / name,
        )
        assert store.unit == ("us" if fraction else "s")
        made.append(everything(store.as_of(str(1_600_000_000 + CUT)), strategy=strategy, max_events=3))
    assert made[0] == made[1] == made[2]


@settings(max_examples=100, deadline=None)
@given(past=pasts, directed=st.booleans(), random=st.randoms(use_true_random=False))
def test_the_order_of_input_rows_changes_nothing(past: list[Event], directed: bool, random: Random) -> None:
    """But for events of one pair at one time, whose order is all that tells which came first."""
    seen = {(frozenset((event.src, event.dst)), event.time): event for event in past}
    rows = list(seen.values())
    made = everything(in_memory(rows, directed=directed, extra_nodes=False).as_of(), strategy="uniform", max_events=3)
    random.shuffle(rows)
    again = in_memory(rows, directed=directed, extra_nodes=False).as_of()
    assert everything(again, strategy="uniform", max_events=3) == made


def test_one_more_event_before_the_cut_changes_all_that_trees_read() -> None:
    """The comparison above can fail."""
    generator = np.random.default_rng(0)
    past = random_events(generator, PAST, ["card", "wire"], 0, CUT, 40)
    more = [*past, dataclasses.replace(past[0], time=CUT - 1)]
    one, other = (in_memory(rows, directed=False, extra_nodes=False).as_of(CUT) for rows in (past, more))
    nodes = np.array([one.store.node(account) for account in PAST])
    assert (PartnerStatistics(one).rows(nodes) != PartnerStatistics(other).rows(nodes)).any()
    assert (rhythm_statistics(one, nodes) != rhythm_statistics(other, nodes)).any()
    src, dst = np.repeat(nodes, len(nodes)), np.tile(nodes, len(nodes))
    before, after = (fitted(view, nodes).pair_statistics_of(view).rows(src, dst) for view in (one, other))
    # In activity time, an event of any two accounts ages all pairs.
    assert (np.nan_to_num(before) != np.nan_to_num(after)).any(axis=1).mean() > 0.5
