"""Softmax over groups is torch's, where there are no gaps."""

from __future__ import annotations

import torch
from tests.nn.examples import seeded

from gtea.nn.groups import DenseGroups, SegmentGroups
from gtea.nn.normalisers import softmax


def test_dense() -> None:
    z = torch.randn(5, 4, generator=seeded())
    torch.testing.assert_close(softmax(z, DenseGroups(torch.ones(5, 4, dtype=torch.bool))), z.softmax(1))


def test_segments_with_several_columns() -> None:
    z = torch.randn(6, 3, generator=seeded())
    p = softmax(z, SegmentGroups(torch.tensor([0, 2, 6]), 6))
    torch.testing.assert_close(p, torch.cat([z[:2].softmax(0), z[2:].softmax(0)]))
