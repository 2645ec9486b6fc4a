"""What sparsemax, softmax and entmax15 share: gradients, extremes, gaps, and both forms alike."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.nn.examples import seeded
from torch import Tensor

from gtea.nn.groups import DenseGroups, Groups, SegmentGroups
from gtea.nn.normalisers import entmax15, softmax, sparsemax

Normalise = Callable[[Tensor, Groups], Tensor]
every_normaliser = pytest.mark.parametrize("normalise", [sparsemax, softmax, entmax15])

ROWS = {
    "plain": [[0.3, -0.2, 1.1, 0.9]],
    "ties": [[0.5, 0.5, 0.5, -1.0], [0.7, 0.7, -0.9, -0.9]],
    "one neighbour": [[2.0]],
    "no neighbour": [[], [0.1, 0.4], []],
    "large": [[1e4, 1e4 - 0.3, -1e4], [-1e4, -1e4 - 0.4]],
}
every_case = pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)


def dense(rows: list[list[float]]) -> tuple[Tensor, Tensor]:
    width = max(1, *map(len, rows))
    mask = torch.tensor([[place < len(row) for place in range(width)] for row in rows])
    z = torch.tensor([row + [0.0] * (width - len(row)) for row in rows], dtype=torch.float64)
    return z, mask


def segments(rows: list[list[float]]) -> tuple[Tensor, SegmentGroups]:
    z = torch.tensor([value for row in rows for value in row], dtype=torch.float64)
    return z, SegmentGroups(torch.tensor([0, *map(len, rows)]).cumsum(0), len(z))


@every_normaliser
@every_case
def test_gradcheck_dense(normalise: Normalise, rows: list[list[float]]) -> None:
    z, mask = dense(rows)
    assert torch.autograd.gradcheck(lambda z: normalise(z, DenseGroups(mask)), z.requires_grad_())


@every_normaliser
@every_case
def test_gradcheck_segments(normalise: Normalise, rows: list[list[float]]) -> None:
    z, groups = segments(rows)
    assert torch.autograd.gradcheck(lambda z: normalise(z, groups), z.requires_grad_())


@every_normaliser
@every_case
def test_weights_sum_to_one_where_there_is_a_neighbour(normalise: Normalise, rows: list[list[float]]) -> None:
    z, mask = dense(rows)
    p = normalise(z, DenseGroups(mask))
    assert (p >= 0).all()
    torch.testing.assert_close(p.sum(1), mask.any(1).double(), atol=1e-12, rtol=0)


@every_normaliser
@settings(deadline=None, max_examples=50)
@given(rows=st.lists(st.lists(st.floats(-50, 50), max_size=6), min_size=1, max_size=6), seed=st.integers(0, 1000))
def test_the_order_of_neighbours_and_a_common_shift_change_nothing(
    normalise: Normalise, rows: list[list[float]], seed: int
) -> None:
    z, mask = dense(rows)
    order = torch.randperm(z.shape[1], generator=seeded(seed))
    p = normalise(z, DenseGroups(mask))
    torch.testing.assert_close(normalise(z[:, order], DenseGroups(mask[:, order])), p[:, order], atol=1e-10, rtol=0)
    torch.testing.assert_close(normalise(z + 3, DenseGroups(mask)), p, atol=1e-10, rtol=0)


@every_normaliser
def test_dense_and_segments_give_the_same(normalise: Normalise) -> None:
    rows = [torch.randn(size, generator=seeded(size)).mul(3).tolist() for size in (5, 0, 1, 12, 3, 0)]
    table, mask = dense(rows)
    flat, groups = segments(rows)
    torch.testing.assert_close(normalise(table, DenseGroups(mask))[mask], normalise(flat, groups), atol=1e-12, rtol=0)


@every_normaliser
@pytest.mark.parametrize("shape", [(0, 3), (4, 3)], ids=str)
def test_nobody_has_a_neighbour(normalise: Normalise, shape: tuple[int, int]) -> None:
    z = torch.zeros(shape, requires_grad=True)
    p = normalise(z, DenseGroups(torch.zeros(shape, dtype=torch.bool)))
    p.sum().backward()
    assert not p.any()
    assert z.grad is not None
    assert not z.grad.any()
    assert normalise(torch.zeros(0), SegmentGroups(torch.zeros(shape[0] + 1, dtype=torch.int64), 0)).shape == (0,)


@every_normaliser
def test_float32_stays_float32_and_close_to_float64(normalise: Normalise) -> None:
    sizes = [3, 50, 1, 900]
    z = torch.randn(sum(sizes), generator=seeded()).mul(1e3)
    groups = SegmentGroups(torch.tensor([0, *sizes]).cumsum(0), len(z))
    p = normalise(z, groups)
    assert p.dtype == torch.float32
    torch.testing.assert_close(p.double(), normalise(z.double(), groups), atol=1e-6, rtol=0)


@every_normaliser
def test_a_hub_after_many_others_keeps_its_precision(normalise: Normalise) -> None:
    """Running sums reach over the whole graph; 200,000 slots before a target don't blur its weights."""
    last = torch.tensor([0.31, 0.3, 0.29, -5.0])
    z = torch.cat([torch.randn(200_000, generator=seeded()), last])
    offset = torch.cat([torch.arange(0, 200_001, 10), torch.tensor([200_004])])
    p = normalise(z, SegmentGroups(offset, len(z)))
    alone = normalise(last[None], DenseGroups(torch.ones(1, 4, dtype=torch.bool)))
    torch.testing.assert_close(p[-4:], alone[0], atol=1e-6, rtol=0)


@every_normaliser
def test_a_million_equal_neighbours(normalise: Normalise) -> None:
    z = torch.zeros(1_000_000)
    p = normalise(z, SegmentGroups(torch.tensor([0, len(z)]), len(z)))
    torch.testing.assert_close(p.double().sum(), torch.tensor(1.0, dtype=torch.float64), atol=1e-5, rtol=0)
    assert p.min() == p.max()


@every_normaliser
def test_a_broken_logit_is_not_hidden(normalise: Normalise) -> None:
    z, mask = dense([[0.1, float("nan"), 0.3], [0.1, 0.2, 0.3]])
    p = normalise(z, DenseGroups(mask))
    assert p[0].isnan().any()
    assert p[1].isfinite().all()
