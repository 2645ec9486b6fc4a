"""Looks sorted by edge: each look once, on its own edge."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gtea.sampling.subgraph import slots_by_edge


@settings(deadline=None, max_examples=50)
@given(num_slots=st.lists(st.integers(0, 2), max_size=12), seed=st.integers(0, 99))
def test_every_look_is_found_once_on_its_edge(num_slots: list[int], seed: int) -> None:
    edge = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(num_slots)), num_slots))
    looks = slots_by_edge(edge, len(num_slots))
    assert looks.edge.tolist() == [number for number, count in enumerate(num_slots) if count]
    found: list[int] = []
    for number, here, there in zip(*looks, strict=True):
        own = [int(here)] if there < 0 else [int(here), int(there)]
        assert own == np.flatnonzero(edge == number).tolist()
        found += own
    assert sorted(found) == list(range(len(edge)))
