"""Random graphs with a past and a future: what lies at or after the cut can be changed at will."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from torch import Tensor

from gtea.models.boosted_trees import BoostedTrees, TreeSettings
from gtea.models.hybrid import Hybrid
from gtea.store.memory import store_in_memory
from gtea.store.store import Store

CUT = 100
PAST = [f"p{i}" for i in range(8)]
# Ids that sort before, between and after those of the past: the past's numbers all move.
FUTURE = [*PAST, "a", "p0x", "p3x", "p6x", "z"]
KNOWN = {account: [float(i), -float(i % 3)] for i, account in enumerate(PAST[::2])}


@dataclasses.dataclass(frozen=True)
class Event:
    src: str
    dst: str
    time: int
    amount: float
    kind: str


def events(accounts: list[str], kinds: list[str], first: int, last: int, most: int) -> SearchStrategy[list[Event]]:
    account = st.sampled_from(accounts)
    event = st.builds(
        Event,
        account,
        account,
        st.integers(first, last),
        st.sampled_from([0.0, 0.5, 3.0, 1e6, -2.0]),
        st.sampled_from(kinds),
    )
    return st.lists(event, max_size=most)


pasts = events(PAST, ["card", "wire"], 0, CUT - 1, 24)
futures = events(FUTURE, ["atm", "card", "cash", "wire", "zap"], CUT, 2 * CUT, 10)


def columns(rows: Sequence[Event]) -> dict[str, list[Any]]:
    return {field.name: [getattr(row, field.name) for row in rows] for field in dataclasses.fields(Event)}


def in_memory(rows: Sequence[Event], *, directed: bool, extra_nodes: bool) -> Store:
    table = columns(rows)
    future_nodes = {"a": [99.0, 99.0], "p3x": [-99.0, 0.0]} if extra_nodes else {}
    return store_in_memory(
        table["src"],
        table["dst"],
        table["time"],
        features={"amount": table["amount"]},
        categorical={"kind": table["kind"]},
        nodes={account: [7.0, 7.0] for account in PAST[1::2]} | KNOWN | future_nodes,
        node_features=["x", "y"],
        directed=directed,
    )


def random_events(
    generator: np.random.Generator, accounts: list[str], kinds: list[str], first: int, last: int, count: int
) -> list[Event]:
    picks = generator.integers(0, len(accounts), (count, 2))
    return [
        Event(accounts[a], accounts[b], int(t), float(amount), kinds[int(kind)])
        for (a, b), t, amount, kind in zip(
            picks,
            generator.integers(first, last, count),
            generator.lognormal(3, 2, count),
            generator.integers(0, len(kinds), count),
            strict=True,
        )
    ]


def grow_trees(network: Hybrid, num_classes: int) -> None:
    """Give a hybrid trees that look at many columns. They depend on nothing but the number of columns."""
    for trees in network.trees().values():
        trees.load_state_dict(_random_trees(trees._d_in, num_classes))


@functools.cache
def _random_trees(d_in: int, num_classes: int) -> dict[str, Tensor]:
    trees = BoostedTrees(d_in, num_classes, 0, TreeSettings(num_rounds=10, max_leaves=8))
    rows = torch.randn(300, d_in, generator=torch.Generator().manual_seed(d_in))
    trees.fit(rows, torch.arange(300) % num_classes, torch.ones(300))
    return trees.state_dict()
