"""Small random inputs that keep the batch contract."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from gtea.config import InputSpec
from gtea.nn.batch import Batch, Histories

SPEC = InputSpec(d_node_features=3, d_event_features=2, shortest_period=0.5, longest_period=100.0)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def histories_of(
    lengths: Sequence[int], d_event: int = 2, seed: int = 0, dtype: torch.dtype = torch.float64
) -> Histories:
    """Random events on random moments of a hundred days, in time order within each history."""
    generator = seeded(seed)
    offset = torch.tensor([0, *lengths]).cumsum(0)
    time = [100 * torch.rand(length, generator=generator, dtype=torch.float64).sort().values for length in lengths]
    features = torch.randn(int(offset[-1]), d_event, generator=generator, dtype=torch.float64)
    return Histories(offset, torch.cat([torch.empty(0), *time]).to(dtype), features.to(dtype))


def part_of(histories: Histories, edges: Sequence[int]) -> Histories:
    """Some of the histories, in the given order."""
    ranges = [(int(histories.offset[edge]), int(histories.offset[edge + 1])) for edge in edges]
    rows = torch.tensor([row for start, stop in ranges for row in range(start, stop)], dtype=torch.int64)
    offset = torch.tensor([0, *(stop - start for start, stop in ranges)]).cumsum(0)
    return Histories(offset, histories.time[rows], histories.features[rows])


def random_batch(
    num_within: Sequence[int] = (3, 7, 12),
    num_edges: int = 14,
    fan_out: int = 4,
    d_node: int = 3,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
) -> Batch:
    """Two hops by default. Edges may serve several targets. Seed 0 has an edge without events, seed 1 no neighbour."""
    generator = seeded(seed)
    hop = [h for h in range(len(num_within) - 1) for _ in range(num_within[h] - (num_within[h - 1] if h else 0))]
    neighbour = torch.full((len(hop), fan_out), -1)
    edge = torch.full((len(hop), fan_out), -1)
    for target, hops_away in enumerate(hop):
        if target == 1:
            continue
        reach = num_within[hops_away + 1]
        degree = int(torch.randint(1, fan_out + 1, (), generator=generator))
        taken = torch.randperm(reach, generator=generator)[:degree]
        places = torch.randperm(fan_out, generator=generator)[: len(taken)]
        neighbour[target, places] = taken
        edge[target, places] = torch.randint(num_edges, (len(taken),), generator=generator)
    edge[0, neighbour[0] >= 0] = torch.arange(int((neighbour[0] >= 0).sum()))
    lengths = torch.randint(1, 6, (num_edges,), generator=generator).tolist()
    lengths[0] = 0
    features = torch.randn(num_within[-1], d_node, generator=generator, dtype=torch.float64).to(dtype)
    return Batch(tuple(num_within), features, neighbour, edge, histories_of(lengths, seed=seed + 1, dtype=dtype))
