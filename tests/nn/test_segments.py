"""Sums and maxima of runs, empty ones included."""

from __future__ import annotations

import torch

from gtea.nn.segments import segment_ids, segment_max, segment_sum

OFFSET = torch.tensor([0, 2, 2, 5])
VALUES = torch.tensor([[1.0, -1.0], [2.0, -2.0], [3.0, -3.0], [5.0, -5.0], [4.0, -4.0]])


def test_runs() -> None:
    run = segment_ids(OFFSET, 5)
    assert run.tolist() == [0, 0, 2, 2, 2]
    assert segment_sum(VALUES, run, 3).tolist() == [[3, -3], [0, 0], [12, -12]]
    assert segment_max(VALUES, run, 3).tolist() == [[2, -1], [0, 0], [5, -3]]
    assert segment_max(VALUES[:, 0], run, 3).tolist() == [2, 0, 5]


def test_no_rows_at_all() -> None:
    run = segment_ids(torch.tensor([0, 0, 0]), 0)
    assert segment_sum(VALUES[:0], run, 2).tolist() == [[0, 0], [0, 0]]
    assert segment_max(VALUES[:0], run, 2).tolist() == [[0, 0], [0, 0]]
