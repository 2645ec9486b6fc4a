"""Groups: a table with gaps and runs one after the other offer the same."""

from __future__ import annotations

import pytest
import torch
from tests.nn.examples import seeded

from gtea.nn.groups import DenseGroups, SegmentGroups

LENGTHS = [3, 1, 0, 40, 5]


def both(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, DenseGroups, SegmentGroups]:
    """The same values in both forms."""
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    table = torch.randn(mask.shape, generator=seeded(), dtype=dtype)
    offset = torch.tensor([0, *LENGTHS]).cumsum(0)
    return table, mask, DenseGroups(mask), SegmentGroups(offset, sum(LENGTHS))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_both_forms_agree(dtype: torch.dtype) -> None:
    table, mask, dense, runs = both(dtype)
    values = table[mask]
    below = dense.below_largest(table)
    torch.testing.assert_close(below[mask], runs.below_largest(values))
    assert (below[~mask] == -torch.inf).all()
    totals = dense.total(table.masked_fill(~mask, 0)).expand_as(table)
    torch.testing.assert_close(totals[mask], runs.total(values))
    ranked, other = dense.ranked(table.masked_fill(~mask, -1e9)), runs.ranked(values)
    torch.testing.assert_close(ranked.value[mask].double(), other.value)
    torch.testing.assert_close(ranked.rank.expand_as(table)[mask].double(), other.rank)
    torch.testing.assert_close(ranked.total[mask].double(), other.total, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(ranked.total_of_squares[mask].double(), other.total_of_squares, atol=1e-5, rtol=1e-5)


def test_the_largest_of_a_group_is_zero_below_itself() -> None:
    _, mask, _, runs = both(torch.float64)
    below = runs.below_largest(torch.arange(float(mask.sum())))
    assert below[[2, 3, 43, 48]].tolist() == [0, 0, 0, 0]


def test_several_columns_are_summed_side_by_side() -> None:
    runs = SegmentGroups(torch.tensor([0, 2, 3]), 3)
    values = torch.tensor([[1.0, 10.0], [2.0, 20.0], [5.0, 50.0]])
    assert runs.total(values).tolist() == [[3, 30], [3, 30], [5, 50]]
