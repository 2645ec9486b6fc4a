"""The batch: what it knows of itself, and moving it."""

from __future__ import annotations

import torch
from tests.models.examples import batch_with_degrees, event_batch
from tests.nn.examples import random_batch


def test_counts() -> None:
    batch = random_batch((3, 7, 12))
    assert batch.num_layers == 2
    assert batch.histories.num_edges == 14
    assert batch.histories.num_events == int(batch.histories.offset[-1])


def test_moving_moves_everything_and_changes_nothing() -> None:
    batch = random_batch()
    for moved, device in ((batch.to("meta"), "meta"), (batch.to(torch.device("cpu")), "cpu")):
        tensors = [moved.node_features, moved.neighbour, moved.edge, *vars(moved.histories).values()]
        assert {tensor.device.type for tensor in tensors} == {device}
        assert moved.num_within == batch.num_within


def test_what_only_baselines_read_is_moved_too() -> None:
    degrees, events = batch_with_degrees().to("meta"), event_batch().to("meta")
    assert degrees.degree is not None
    tensors = [degrees.degree, events.node_features, events.reached, events.age, events.event_features]
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert events.num_within == event_batch().num_within
