"""The compiled sums over neighbours against their twin in PyTorch, on every instruction set that this machine has."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gtea.nn import full_graph as whole_graph
from gtea.nn.batch import Slots
from gtea.nn.full_graph import attended_run
from gtea.nn.kernels import kernels

COMPILED = kernels()
pytestmark = pytest.mark.skipif(
    COMPILED is None, reason="gtea_kernels is not installed or switched off: pip install ./kernels"
)
INSTRUCTION_SETS = COMPILED.instruction_sets() if COMPILED else ["none"]


@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
@settings(max_examples=60, deadline=None)
@given(
    num_slots=st.sampled_from([0, 1, 2, 5, 6, 7, 100]),
    num_targets=st.integers(1, 9),
    d_edge=st.sampled_from([1, 3, 16, 64]),
    d_hidden=st.sampled_from([1, 7, 8, 31, 32, 33, 64, 70]),
    seed=st.integers(0, 1000),
)
def test_it_equals_its_twin(
    instruction_set: str, num_slots: int, num_targets: int, d_edge: int, d_hidden: int, seed: int
) -> None:
    assert COMPILED is not None
    generator = torch.Generator().manual_seed(seed)
    from_node = torch.randn(13, d_hidden, generator=generator)
    e_tilde = torch.randn(num_slots, d_edge, generator=generator)
    w_e = torch.randn(d_hidden, d_edge, generator=generator) * d_edge**-0.5
    alpha = torch.rand(num_slots, generator=generator)
    neighbour = torch.randint(13, (num_slots,), generator=generator)
    target = torch.randint(num_targets, (num_slots,), generator=generator).sort().values
    slots = Slots(target, neighbour, torch.arange(num_slots), alpha)
    run = attended_run(range(num_targets), slots, e_tilde)
    with COMPILED.use_instruction_set(instruction_set):
        mine = whole_graph._sum_relu(from_node, w_e, run, 4)
    double = attended_run(range(num_targets), Slots(target, neighbour, slots.edge, alpha.double()), e_tilde.double())
    theirs = whole_graph._sum_relu(from_node.double(), w_e.double(), double, 4)
    torch.testing.assert_close(mine.double(), theirs, atol=1e-5, rtol=1e-5)


def test_what_is_no_number_is_seen() -> None:
    assert COMPILED is not None
    from_node, e = torch.tensor([[torch.nan, -1.0]]), torch.zeros(1, 1)
    here = torch.zeros(1, dtype=torch.int64)
    total = COMPILED.sum_neighbours(from_node, e, torch.ones(2, 1), here, here, torch.ones(1), 1)
    assert total.isnan().tolist() == [[True, False]]


@pytest.mark.parametrize(("name", "place"), [("neighbour", 3), ("target", -1)])
def test_places_that_are_none_are_refused(name: str, place: int) -> None:
    assert COMPILED is not None
    places = {"neighbour": torch.zeros(2, dtype=torch.int64), "target": torch.zeros(2, dtype=torch.int64)}
    places[name][1] = place
    with pytest.raises(ValueError, match=name):
        COMPILED.sum_neighbours(
            torch.zeros(3, 2), torch.zeros(2, 1), torch.zeros(2, 1), **places, alpha=torch.zeros(2), num_targets=2
        )
