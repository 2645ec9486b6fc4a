"""Slots: from a batch's table and from a graph's runs."""

from __future__ import annotations

import torch
from tests.nn.examples import random_batch

from gtea.nn.batch import Slots


def test_a_batch_and_a_graph_give_the_same_slots() -> None:
    batch = random_batch()
    present = batch.edge >= 0
    alpha = present * torch.rand(present.shape, generator=torch.Generator().manual_seed(0))
    alpha[0, present[0].nonzero()[0]] = 0
    offset = torch.cat([torch.zeros(1, dtype=torch.int64), present.sum(1).cumsum(0)])
    one = Slots.of_batch(batch, alpha)
    other = Slots.of_graph(offset, batch.neighbour[present], batch.edge[present], alpha[present])
    for name in ("target", "neighbour", "edge", "alpha"):
        assert torch.equal(getattr(one, name), getattr(other, name))
    assert len(one.target) == int(present.sum()) - 1, "the slot of weight zero is left out"


def test_the_first_targets_own_a_prefix() -> None:
    neighbour, edge = torch.arange(6).view(2, 3)
    slots = Slots.of_graph(torch.tensor([0, 2, 2, 3]), neighbour, edge, torch.ones(3))
    assert slots.first(2).neighbour.tolist() == [0, 1]
    assert slots.first(1).edge.tolist() == [3, 4]
    assert slots.first(0).alpha.tolist() == []
