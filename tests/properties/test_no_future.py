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

from gtea.config import FeaturesConfig
from gtea.features.account_statistics import statistics
from gtea.features.preprocessing import Preprocessing, fit_events, fit_preprocessing
from gtea.ingestion.ingest import ingest
from gtea.sampling.collate import Collator
from gtea.sampling.event_batches import EventCollator
from gtea.sampling.negatives import NegativeSampler
from gtea.sampling.neighbours import Strategy
from gtea.sampling.tabular import NodeRows, PairRecency, PairRows
from gtea.store.account_keys import keys_of_nodes
from gtea.store.view import View


def everything(view: View, *, strategy: Strategy, max_events: int) -> list[Any]:
    """All that a model could be given, as bytes and in words that don't depend on the store's numbering."""
    features = FeaturesConfig(d_random=3, recency=True, pair_statistics=True, rank_inputs=True)
    preprocessing = fit_preprocessing(view, features, kinds=("given", "statistics", "random"))
    preprocessing = dataclasses.replace(preprocessing, events=fit_events(view, max_words=3))
    nodes = np.array([view.store.node(account) for account in PAST])
    made = [preprocessing, statistics(view, nodes).tobytes(), keys_of_nodes(view.store, nodes).tobytes()]
    collator = Collator(view, preprocessing, fanout=2, num_layers=2, max_events=max_events, strategy=strategy, seed=5)
    for epoch in range(2):
        batch = collator.batch(nodes, epoch)
        tensors = (batch.node_features, batch.neighbour, batch.edge, batch.head_inputs, *vars(batch.histories).values())
        made += [batch.num_within, *(tensor.numpy().tobytes() for tensor in tensors)]
    return [*made, *for_baselines(view, nodes, preprocessing, strategy), negatives(view, nodes)]


def for_baselines(view: View, nodes: NDArray[np.int64], preprocessing: Preprocessing, strategy: Strategy) -> list[Any]:
    """What the baselines are given beyond that: degrees, single events, and rows of numbers."""
    degrees = Collator(view, preprocessing, fanout=2, strategy=strategy, with_degrees=True).batch(nodes).degree
    events = EventCollator(view, preprocessing, fanout=2, num_layers=2, strategy=strategy).batch(nodes, epoch=1)
    assert degrees is not None
    tensors = [degrees, events.node_features, events.reached, events.age, events.event_features]
    tensors += [NodeRows(view, preprocessing).batch(nodes)]
    src, dst = (ends.ravel() for ends in np.meshgrid(nodes, nodes))
    tensors += [rows(view, preprocessing).batch(src, dst) for rows in (PairRows, PairRecency)]
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
