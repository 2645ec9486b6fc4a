"""Eq. 5 and Algorithm 1: each normaliser, dense and by segments, against its naive form; values and gradients."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.paper import naive
from torch import Tensor

from gtea.nn.groups import DenseGroups, Groups, SegmentGroups
from gtea.nn.normalisers import Normaliser

logits = st.lists(st.floats(-4, 4, width=32).map(lambda value: round(value, 2)), max_size=7)
targets = st.lists(logits, min_size=1, max_size=6)
every_normaliser = pytest.mark.parametrize("name", ["sparsemax", "softmax", "entmax15"])


def flat(groups: list[list[float]]) -> Tensor:
    return torch.tensor([value for group in groups for value in group], dtype=torch.float64, requires_grad=True)


def weigh_and_differentiate(name: str, z: Tensor, groups: Groups) -> tuple[Tensor, Tensor]:
    p = Normaliser(name)(z, groups)  # type: ignore[arg-type]
    (gradient,) = torch.autograd.grad((p * torch.arange(p.numel()).view_as(p).sin()).sum(), z)
    return p.detach(), gradient


def by_segments(name: str, groups: list[list[float]]) -> tuple[Tensor, Tensor]:
    z = flat(groups)
    offset = torch.tensor([0, *map(len, groups)]).cumsum(0)
    return weigh_and_differentiate(name, z, SegmentGroups(offset, len(z)))


def one_by_one(name: str, groups: list[list[float]]) -> tuple[Tensor, Tensor]:
    z = flat(groups)
    pieces = iter(z)
    p = [weight for group in groups for weight in naive.NORMALISERS[name]([next(pieces) for _ in group])]
    stacked = torch.stack(p) if p else z * 0
    (gradient,) = torch.autograd.grad((stacked * torch.arange(len(z)).sin()).sum(), z)
    return stacked.detach(), gradient


def has_a_kink(name: str, groups: list[list[float]]) -> bool:
    """Where a logit is at sparsemax's threshold, any slope between those of the two sides is right."""
    if name != "sparsemax":
        return False
    return any(
        abs(value - (max(group) - naive.sparsemax(list(torch.tensor(group).double()))[group.index(max(group))])) < 1e-6
        for group in groups
        for value in group
    )


@every_normaliser
@settings(deadline=None, max_examples=60)
@given(groups=targets)
def test_segments(name: str, groups: list[list[float]]) -> None:
    p, gradient = by_segments(name, groups)
    expected_p, expected_gradient = one_by_one(name, groups)
    torch.testing.assert_close(p, expected_p, atol=1e-10, rtol=0)
    if not has_a_kink(name, groups):
        torch.testing.assert_close(gradient, expected_gradient, atol=1e-10, rtol=0)


@every_normaliser
@settings(deadline=None, max_examples=60)
@given(groups=targets, seed=st.integers(0, 100))
def test_dense(name: str, groups: list[list[float]], seed: int) -> None:
    """A table with gaps holds the same weights at the places that are filled, and zeros in the gaps."""
    width = max(map(len, groups)) + 1
    generator = torch.Generator().manual_seed(seed)
    mask = torch.zeros(len(groups), width, dtype=torch.bool)
    for row, group in zip(mask, groups, strict=True):
        row[torch.randperm(width, generator=generator)[: len(group)]] = True
    z = torch.full(mask.shape, 1e6, dtype=torch.float64).masked_scatter(mask, flat(groups).detach()).requires_grad_()
    p = Normaliser(name)(z, DenseGroups(mask))  # type: ignore[arg-type]
    expected_p, expected_gradient = one_by_one(name, groups)
    torch.testing.assert_close(p[mask].detach(), expected_p, atol=1e-10, rtol=0)
    assert not p[~mask].any()
    (gradient,) = torch.autograd.grad((p[mask] * torch.arange(int(mask.sum())).sin()).sum(), z)
    assert not gradient[~mask].any()
    if not has_a_kink(name, groups):
        torch.testing.assert_close(gradient[mask], expected_gradient, atol=1e-10, rtol=0)


def test_the_papers_greater_or_equal_is_our_greater() -> None:
    """1 + k z_(k) = sum_{j <= k} z_(j) exactly: the second neighbour may be counted in or out, p is the same."""
    p, _ = by_segments("sparsemax", [[1.0, 0.0]])
    assert p.tolist() == [1.0, 0.0]
    assert [float(weight) for weight in naive.sparsemax(list(torch.tensor([1.0, 0.0])))] == [1.0, 0.0]
