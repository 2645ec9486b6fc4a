"""Sizes and batches for the baselines' tests."""

from __future__ import annotations

import dataclasses

import torch
from tests.nn.examples import random_batch, seeded

from gtea.config import ModelConfig
from gtea.nn.batch import Batch, EventBatch

SMALL = ModelConfig(num_layers=2, d_node=4, num_heads=2, d_time=6, d_mlp=5)


def batch_with_degrees(
    seed: int = 0, dtype: torch.dtype = torch.float64, num_within: tuple[int, ...] = (3, 7, 12)
) -> Batch:
    """Nodes have the neighbours of the sample and some more."""
    batch = random_batch(num_within, seed=seed, dtype=dtype)
    degree = torch.randint(0, 5, (batch.num_within[-1],), generator=seeded(seed))
    degree[: len(batch.neighbour)] += (batch.neighbour >= 0).sum(1)
    return dataclasses.replace(batch, degree=degree)


def event_batch(seed: int = 0, dtype: torch.dtype = torch.float64, num_seeds: int = 3, fanout: int = 3) -> EventBatch:
    """Two hops; seed 1 has no event, and every other query one or more."""
    generator = seeded(seed)
    within, reached, first = [num_seeds], [], 0
    for _ in range(2):
        row = torch.full((within[-1] - first, fanout), -1)
        number = within[-1]
        for i in range(len(row)):
            if first + i != 1:
                for place in range(int(torch.randint(1, fanout + 1, (), generator=generator))):
                    row[i, place] = number
                    number += 1
        reached.append(row)
        first = within[-1]
        within.append(number)
    chosen = torch.cat(reached)
    present = chosen >= 0
    age = 100 * torch.rand(chosen.shape, generator=generator, dtype=torch.float64) * present
    features = torch.randn(*chosen.shape, 2, generator=generator, dtype=torch.float64) * present[..., None]
    x = torch.randn(within[-1], 3, generator=generator, dtype=torch.float64)
    return EventBatch(tuple(within), x.to(dtype), chosen, age.to(dtype), features.to(dtype))
