"""Sparsemax: the projection onto the simplex, with exact zeros."""

from __future__ import annotations

import torch
from tests.nn.examples import seeded

from gtea.nn.groups import DenseGroups
from gtea.nn.normalisers import sparsemax


def everyone(z: torch.Tensor) -> DenseGroups:
    return DenseGroups(torch.ones_like(z, dtype=torch.bool))


def test_known_values() -> None:
    z = torch.tensor([[3.0, 1.0, 0.2], [0.5, 0.5, 0.0], [0.1, 0.0, -0.1]], dtype=torch.float64)
    expected = [[1, 0, 0], [0.5, 0.5, 0], [13 / 30, 1 / 3, 7 / 30]]
    torch.testing.assert_close(sparsemax(z, everyone(z)), torch.tensor(expected, dtype=torch.float64))


def test_discarded_neighbours_weigh_exactly_nothing() -> None:
    z = torch.randn(50, 20, generator=seeded()) * 3
    assert (sparsemax(z, everyone(z)) == 0).float().mean() > 0.5


def test_it_is_the_nearest_point_of_the_simplex() -> None:
    """Optimality of the projection: z - p is constant on the support and smaller off it."""
    z = torch.randn(30, 8, generator=seeded(), dtype=torch.float64)
    p = sparsemax(z, everyone(z))
    threshold = torch.where(p > 0, z - p, -torch.inf).amax(1, keepdim=True)
    torch.testing.assert_close(torch.where(p > 0, z - p, threshold), threshold.expand_as(z))
    assert ((z <= threshold + 1e-12) | (p > 0)).all()
