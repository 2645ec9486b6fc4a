"""Sums and extremes over consecutive runs of rows, as many runs as there are histories or targets.

Run i is the rows offset[i] : offset[i + 1]. Nothing is padded, and an empty run is no special case.
"""

from __future__ import annotations

import torch
from torch import Tensor


def run_of_rows(offset: Tensor, num_rows: int) -> Tensor:
    """For each row the run that it belongs to, [num_rows]."""
    runs = torch.arange(len(offset) - 1, device=offset.device)
    return runs.repeat_interleave(offset.diff(), output_size=num_rows)


def run_sum(values: Tensor, run: Tensor, num_runs: int) -> Tensor:
    """The sum of each run's rows, zero for an empty run: [num_runs, ...]."""
    return values.new_zeros(num_runs, *values.shape[1:]).index_add(0, run, values)


def run_max(values: Tensor, run: Tensor, num_runs: int) -> Tensor:
    """The largest of each run's rows, zero for an empty run: [num_runs, ...]."""
    places = run.view(-1, *[1] * (values.dim() - 1)).expand_as(values)
    start = values.new_zeros(num_runs, *values.shape[1:])
    return start.scatter_reduce(0, places, values, "amax", include_self=False)
