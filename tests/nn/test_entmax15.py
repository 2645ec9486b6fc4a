"""1.5-entmax: sparser than softmax, denser than sparsemax, and exact."""

from __future__ import annotations

import torch
from tests.nn.examples import seeded

from gtea.nn.groups import DenseGroups
from gtea.nn.normalisers import entmax15, sparsemax


def test_it_solves_its_equation() -> None:
    """By bisection: the tau at which sum max(z/2 - tau, 0)^2 = 1."""
    z = torch.randn(40, 9, generator=seeded(), dtype=torch.float64) * 4
    low, high = z.amax(1, keepdim=True) / 2 - 1, z.amax(1, keepdim=True) / 2
    for _ in range(100):
        tau = (low + high) / 2
        too_low = (z / 2 - tau).clamp(min=0).square().sum(1, keepdim=True) > 1
        low, high = torch.where(too_low, tau, low), torch.where(too_low, high, tau)
    expected = (z / 2 - low).clamp(min=0).square()
    p = entmax15(z, DenseGroups(torch.ones_like(z, dtype=torch.bool)))
    torch.testing.assert_close(p, expected, atol=1e-12, rtol=0)


def test_it_discards_less_than_sparsemax_but_something() -> None:
    z = torch.randn(50, 20, generator=seeded()) * 3
    groups = DenseGroups(torch.ones_like(z, dtype=torch.bool))
    kept, kept_by_sparsemax = (entmax15(z, groups) > 0), (sparsemax(z, groups) > 0)
    assert kept.sum() > kept_by_sparsemax.sum()
    assert not kept.all()
