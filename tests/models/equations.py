"""A baseline against its published equations as plain loops (``naive.py``), and against PyG where it has the layer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.models.examples import SMALL, batch_with_degrees
from tests.nn.examples import SPEC, seeded
from tests.paper.agreement import assert_agrees
from tests.paper.naive import graph_of
from torch import Tensor

from gtea.config import ModelConfig
from gtea.models.layered import sampled_slots

TARGETS = 7
every_depth = pytest.mark.parametrize("depth", [1, 2])


def sized(depth: int) -> ModelConfig:
    return dataclasses.replace(SMALL, num_layers=depth)


def assert_is_the_equation(
    build: Callable[..., Any], loops: Callable[..., Any], depth: int, dtype: torch.dtype
) -> None:
    """Values and gradients on a sampled batch."""
    num_within = (3, 7, 12)[: depth + 1]
    batch, exact = (batch_with_degrees(dtype=kind, num_within=num_within) for kind in (dtype, torch.float64))
    graph, x = graph_of(exact)
    assert exact.degree is not None
    degrees = exact.degree.tolist()

    def one_by_one(model: Any) -> Tensor:
        return torch.stack(loops(model, graph, x, degrees)[:3])

    assert_agrees(build(sized(depth), SPEC, seeded()), lambda model: model(batch), one_by_one, dtype)


def sample() -> tuple[Tensor, Any, Tensor]:
    """Node features of a batch, its slots, and the same as an edge index from neighbours to targets."""
    batch = batch_with_degrees()
    slots = sampled_slots(batch, batch.node_features)
    return batch.node_features, slots, torch.stack([slots.neighbour, slots.target])


def pyg() -> Any:
    """PyG's layers."""
    return pytest.importorskip("torch_geometric.nn", reason="the extra [pyg] is not installed")
