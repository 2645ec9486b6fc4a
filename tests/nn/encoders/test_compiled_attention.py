"""The compiled attention of last events against its twin in PyTorch, on every instruction set of this machine."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.nn.examples import seeded
from torch import Tensor

from gtea.nn.encoders.self_attention import attend_last
from gtea.nn.kernels import kernels
from gtea.nn.segments import segment_ids

COMPILED = kernels()
pytestmark = pytest.mark.skipif(
    COMPILED is None, reason="gtea_kernels is not installed or switched off: pip install ./kernels"
)
INSTRUCTION_SETS = COMPILED.instruction_sets() if COMPILED else ["none"]
every_instruction_set = pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)


def case_of(lengths: list[int], num_heads: int, d_query: int, d: int, seed: int) -> list[Tensor]:
    """q, k, e, what comes back from outside, and the offsets."""
    offset = torch.tensor([0, *lengths]).cumsum(0)
    generator, num_events = seeded(seed), sum(lengths)
    shapes = (len(lengths), num_heads, d_query), (num_events, num_heads, d_query), (num_events, d)
    drawn = [2 * torch.randn(shape, generator=generator) for shape in (*shapes, (len(lengths), num_heads, d))]
    return [*drawn, offset]


def compiled_results(case: list[Tensor], instruction_set: str) -> list[Tensor]:
    """The sums, and the gradients of q, k and e."""
    assert COMPILED is not None
    *given, gradient, offset = case
    leaves = [tensor.clone().requires_grad_() for tensor in given]
    with COMPILED.use_instruction_set(instruction_set):
        summed = COMPILED.attend_last(*leaves, offset)
        summed.backward(gradient)
    return [summed.detach(), *(leaf.grad for leaf in leaves)]


@every_instruction_set
@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.sampled_from([0, 1, 1, 2, 5, 9, 17, 300]), max_size=12),
    num_heads=st.integers(1, 5),
    d_query=st.integers(1, 20),
    d=st.integers(1, 40),
    seed=st.integers(0, 999),
)
def test_it_says_what_the_twin_says(
    instruction_set: str, lengths: list[int], num_heads: int, d_query: int, d: int, seed: int
) -> None:
    case = case_of(lengths, num_heads, d_query, d, seed)
    *given, gradient, offset = case
    leaves = [tensor.double().requires_grad_() for tensor in given]
    q, k, e = leaves
    twin = attend_last(q, k, e, offset, segment_ids(offset, len(given[2])))
    twin.backward(gradient.double())
    summed, *gradients = compiled_results(case, instruction_set)
    torch.testing.assert_close(summed.double(), twin.detach(), atol=1e-5, rtol=1e-5)
    for got, leaf in zip(gradients, leaves, strict=True):
        assert leaf.grad is not None
        largest = float(leaf.grad.abs().max()) if leaf.grad.numel() else 0.0
        torch.testing.assert_close(got.double(), leaf.grad, atol=1e-4 * max(largest, 0.1), rtol=0)


@every_instruction_set
def test_neither_company_nor_threads_change_a_bit(instruction_set: str) -> None:
    lengths = [1 + i % 7 for i in range(1500)]
    case = case_of(lengths, 4, 16, 64, seed=1)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = compiled_results(case, instruction_set)
        torch.set_num_threads(2)
        together = compiled_results(case, instruction_set)
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(alone, together, strict=True))
    q, k, e, gradient, offset = case
    events = slice(int(offset[777]), int(offset[778]))
    one = [q[777:778], k[events], e[events], gradient[777:778], torch.tensor([0, lengths[777]])]
    assert torch.equal(compiled_results(one, instruction_set)[0][0], alone[0][777])


def test_large_logits_stay_finite() -> None:
    assert COMPILED is not None
    q, k, e, _, offset = case_of([3, 1], 2, 4, 6, seed=0)
    assert COMPILED.attend_last(1e4 * q, 1e4 * k, e, offset).isfinite().all()


def test_wrong_shapes_are_refused() -> None:
    assert COMPILED is not None
    q, k, e, _, offset = case_of([3, 1], 2, 4, 6, seed=0)
    for wrong in ((q[:1], k, e, offset), (q, k[:2], e, offset), (q, k, e[:3], offset), (q, k, e, offset.int())):
        with pytest.raises(ValueError, match="must"):
            COMPILED.attend_last(*wrong)
    with pytest.raises(ValueError, match="offset must go from 0 to the number of events"):
        COMPILED.attend_last(q, k, e, torch.tensor([0, 3, 2]))
