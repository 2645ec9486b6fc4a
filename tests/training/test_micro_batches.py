"""A batch in micro-batches: the gradient of the whole, and the same bits however it is computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gtea.training.micro_batches import GradientRows, MicroBatch, micro_batches_of
from gtea.training.objective import Examples, Objective, weighted_mean

Items = NDArray[np.int64]


class Toy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.used, self.unused = nn.Linear(3, 1), nn.Linear(3, 1)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.used(x).squeeze(1)
        return out


class Rows:
    def __init__(self, x: Tensor) -> None:
        self.x, self.num_events = x, len(x)


def objective_of(network: nn.Module, weights: Tensor) -> Objective[Rows]:
    generator = torch.Generator().manual_seed(1)
    x, y = torch.randn(len(weights), 3, generator=generator), torch.randn(len(weights), generator=generator)

    def loss_of(items: Items, batch: Rows) -> Tensor:
        return weighted_mean((network(batch.x) - y[items]) ** 2, weights[items])

    def examples() -> Examples:
        raise AssertionError

    return Objective(
        lambda items, epoch: Rows(x[items]),
        (len(weights),),
        lambda items: (y[items], weights[items]),
        loss_of,
        lambda: {},
        examples,
    )


def gradients(network: nn.Module) -> list[Any]:
    """The gradient of each parameter, or None."""
    return [None if parameter.grad is None else parameter.grad.clone() for parameter in network.parameters()]


def filled(network: nn.Module, objective: Objective[Rows], micro: list[MicroBatch[Rows]], count: int) -> Tensor:
    rows = GradientRows(network)
    made = rows.empty(count)
    for each in micro:
        rows.fill(made[each.number], objective.loss_of(each.items, each.inputs) * each.share, each.inputs.num_events)
    return made


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_the_sum_is_the_gradient_of_the_whole_batch(count: int) -> None:
    network, weights = Toy(), torch.tensor([1.0, 5.0, 0.5, 1.0, 2.0, 0.0, 9.0])
    objective, items = objective_of(network, weights), np.arange(7)[::-1].copy()
    objective.loss_of(items, objective.make_batch(items, 0)).backward()
    whole, loss = gradients(network), float(objective.loss_of(items, objective.make_batch(items, 0)).detach())
    micro = micro_batches_of(objective, count, range(count))(items, 0)
    value, num_events = GradientRows(network).add_up(filled(network, objective, micro, count))
    assert value == pytest.approx(loss, rel=1e-6)
    assert num_events == sum(each.inputs.num_events for each in micro)
    for found, expected in zip(gradients(network), whole, strict=True):
        assert (found is None) == (expected is None)
        if found is not None and expected is not None:
            torch.testing.assert_close(found, expected)
    assert gradients(network)[2:] == [None, None]  # those that no row has are left alone by the optimiser
    if count == 1:
        assert value == loss
        assert all(torch.equal(a, b) for a, b in zip(gradients(network)[:2], whole[:2], strict=True))


def test_it_is_added_up_in_order_to_the_last_bit() -> None:
    network, objective = (toy := Toy()), objective_of(toy, torch.rand(40, generator=torch.Generator().manual_seed(2)))
    micro = micro_batches_of(objective, 5, range(5))(np.arange(40), 0)
    total: list[Any] = [None, None]
    for each in micro:
        loss = objective.loss_of(each.items, each.inputs) * each.share
        own = torch.autograd.grad(loss, list(network.used.parameters()))
        total = [g if t is None else t + g for t, g in zip(total, own, strict=True)]
    made = filled(network, objective, micro, 5)
    GradientRows(network).add_up(made)
    assert all(torch.equal(a, b) for a, b in zip(gradients(network)[:2], total, strict=True))
    GradientRows(network).add_up(made.flip(0))
    assert not all(torch.equal(a, b) for a, b in zip(gradients(network)[:2], total, strict=True))


def test_a_worker_makes_its_own_and_the_last_may_be_empty() -> None:
    objective = objective_of(Toy(), torch.ones(10))
    every = micro_batches_of(objective, 4, range(4))(np.arange(10), 0)
    assert [each.items.tolist() for each in every] == [[0, 1, 2], [3, 4, 5], [6, 7], [8, 9]]
    assert [each.share for each in every] == [0.3, 0.3, 0.2, 0.2]
    own = micro_batches_of(objective, 4, range(1, 3))(np.arange(10), 0)
    assert [each.number for each in own] == [1, 2]
    assert [each.items.tolist() for each in own] == [[3, 4, 5], [6, 7]]
    assert [each.number for each in micro_batches_of(objective, 4, range(1, 4))(np.arange(2), 0)] == [1]
    rows = GradientRows(Toy())
    assert rows.add_up(rows.empty(2)) == (0.0, 0)


def test_a_micro_batch_without_weight_is_left_out() -> None:
    objective = objective_of(Toy(), torch.tensor([0.0, 0.0, 1.0, 1.0]))
    made = micro_batches_of(objective, 2, range(2))(np.arange(4), 0)
    assert [(each.number, each.share) for each in made] == [(1, 1.0)]
