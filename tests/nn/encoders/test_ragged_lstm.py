"""The compiled LSTM against its twin in PyTorch, on every instruction set that this machine has."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.nn.examples import seeded
from torch import Tensor

from gtea.nn.encoders.ragged_lstm import LSTMState, LSTMWeights, ragged_lstm
from gtea.nn.kernels import kernels as installed

COMPILED = installed()
pytestmark = pytest.mark.skipif(
    COMPILED is None, reason="gtea_kernels is not installed or switched off: pip install ./kernels"
)
INSTRUCTION_SETS = COMPILED.instruction_sets() if COMPILED else ["none"]
every_instruction_set = pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)


@pytest.fixture
def compiled() -> ModuleType:
    assert COMPILED is not None
    return COMPILED


@pytest.fixture
def threads() -> Iterator[Any]:
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@dataclass(frozen=True)
class Case:
    """Two or fewer encoders over some histories, and the gradient that comes from outside."""

    x: Tensor
    offset: Tensor
    encoders: list[list[LSTMWeights]]
    states: list[LSTMState] | None
    gradients: list[LSTMState]

    @property
    def tensors(self) -> list[Tensor]:
        """All that has a gradient, in one order."""
        states = [part for state in self.states or [] for part in (state.h, state.c)]
        return [self.x, *(part for layers in self.encoders for layer in layers for part in layer), *states]

    def to(self, dtype: torch.dtype) -> Case:
        """A copy to differentiate."""
        return Case(
            leaf(self.x, dtype),
            self.offset,
            [[LSTMWeights(*(leaf(part, dtype) for part in layer)) for layer in layers] for layers in self.encoders],
            self.states and [LSTMState(leaf(state.h, dtype), leaf(state.c, dtype)) for state in self.states],
            [LSTMState(state.h.to(dtype), state.c.to(dtype)) for state in self.gradients],
        )

    def total(self, results: list[LSTMState]) -> Tensor:
        pairs = zip(results, self.gradients, strict=True)
        return torch.stack([(r.h * g.h).sum() + (r.c * g.c).sum() for r, g in pairs]).sum()


def leaf(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    return tensor.detach().to(dtype, copy=True).requires_grad_()


def case_of(
    lengths: list[int],
    d_in: int = 3,
    d: int = 5,
    layers: int = 1,
    encoders: int = 1,
    state: bool = False,
    seed: int = 0,
) -> Case:
    generator = seeded(seed)
    offset = torch.tensor([0, *lengths]).cumsum(0)

    def draw(*size: int) -> Tensor:
        return torch.randn(size, generator=generator)

    def draw_state() -> LSTMState:
        return LSTMState(0.5 * draw(layers, len(lengths), d), draw(layers, len(lengths), d))

    def draw_layer(d_below: int) -> LSTMWeights:
        return LSTMWeights(*(d**-0.5 * draw(*size) for size in ((4 * d, d_below), (4 * d, d), (4 * d,))))

    return Case(
        draw(int(offset[-1]), d_in),
        offset,
        [[draw_layer(d if level else d_in) for level in range(layers)] for _ in range(encoders)],
        [draw_state() for _ in range(encoders)] if state else None,
        [draw_state() for _ in range(encoders)],
    )


def by_kernels(compiled: ModuleType, case: Case) -> list[LSTMState]:
    states: Any = case.states and [(state.h, state.c) for state in case.states]
    return [LSTMState(h, c) for h, c in compiled.lstm(case.x, case.offset, case.encoders, states)]


def by_twin(case: Case) -> list[LSTMState]:
    size = (len(case.encoders[0]), len(case.offset) - 1, case.encoders[0][0].u.shape[1])
    zeros = LSTMState(case.x.new_zeros(size), case.x.new_zeros(size))
    states = case.states or [zeros] * len(case.encoders)
    return [ragged_lstm(case.x, case.offset, e, s) for e, s in zip(case.encoders, states, strict=True)]


def gradients_of(case: Case, results: list[LSTMState]) -> list[Tensor]:
    """Zeros where the twin, without a single event, has nothing to differentiate."""
    total = case.total(results) + 0 * case.x.sum()
    return list(torch.autograd.grad(total, case.tensors, allow_unused=True, materialize_grads=True))


def assert_agrees(compiled: ModuleType, case: Case, instruction_set: str) -> None:
    """Results to 1e-5; gradients to 1e-4 of their largest entry, where sums over thousands of events round."""
    mine, theirs = case.to(torch.float32), case.to(torch.float64)
    with compiled.use_instruction_set(instruction_set):
        results = by_kernels(compiled, mine)
        gradients = gradients_of(mine, results)
    expected = by_twin(theirs)
    for one, other in zip(results, expected, strict=True):
        torch.testing.assert_close(one.h.double(), other.h, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(one.c.double(), other.c, atol=1e-5, rtol=1e-5)
    for found, wanted in zip(gradients, gradients_of(theirs, expected), strict=True):
        largest = float(wanted.abs().max()) if wanted.numel() else 0.0
        torch.testing.assert_close(found.double(), wanted, atol=1e-4 * largest + 1e-7, rtol=0)


@pytest.mark.slow
@every_instruction_set
@settings(max_examples=25)
@given(
    lengths=st.lists(st.one_of(st.integers(0, 6), st.integers(0, 200)), max_size=20),
    d_in=st.integers(1, 40),
    d=st.integers(1, 130),
    layers=st.integers(1, 3),
    encoders=st.integers(1, 2),
    state=st.booleans(),
    num_threads=st.integers(1, 3),
    seed=st.integers(0, 1000),
)
@example([5, 0, 1], 24, 64, 1, 2, False, 1, 0)
@example([1, 2, 3, 4] * 100, 5, 9, 2, 2, True, 3, 0)
def test_it_says_what_the_twin_says(
    compiled: ModuleType,
    threads: Any,
    instruction_set: str,
    lengths: list[int],
    d_in: int,
    d: int,
    layers: int,
    encoders: int,
    state: bool,
    num_threads: int,
    seed: int,
) -> None:
    threads(num_threads)
    assert_agrees(compiled, case_of(lengths, d_in, d, layers, encoders, state, seed), instruction_set)


@pytest.mark.slow
@every_instruction_set
@pytest.mark.parametrize("lengths", [[5000, 3, 0, 1], [256] * 3 + [1] * 300 + [2] * 200 + [7] * 50, [0], []], ids=len)
def test_long_and_many_and_none(compiled: ModuleType, threads: Any, instruction_set: str, lengths: list[int]) -> None:
    threads(2)
    for state in (False, True):
        assert_agrees(compiled, case_of(lengths, 4, 16, 2, 2, state), instruction_set)


@every_instruction_set
def test_saturated_gates_and_numbers_that_are_none(compiled: ModuleType, instruction_set: str) -> None:
    case = case_of([4, 2], d=8, state=True)
    assert_agrees(
        compiled, Case(1e4 * case.x, case.offset, case.encoders, case.states, case.gradients), instruction_set
    )
    case.x[1, 0] = torch.nan
    with compiled.use_instruction_set(instruction_set):
        h = by_kernels(compiled, case)[0].h[0]
    assert h[0].isnan().all()
    assert h[1].isfinite().all()


@every_instruction_set
@pytest.mark.parametrize("num_threads", [1, 3])
def test_the_same_bytes_every_time_and_without_autograd(
    compiled: ModuleType, threads: Any, instruction_set: str, num_threads: int
) -> None:
    threads(num_threads)
    case = case_of([3, 0, 150, 1, 1, 40] * 60, 5, 20, 2, 2, True).to(torch.float32)
    with compiled.use_instruction_set(instruction_set):
        results = by_kernels(compiled, case)
        gradients = gradients_of(case, results)
        again = by_kernels(compiled, case)
        assert all(torch.equal(a, b) for a, b in zip(gradients, gradients_of(case, again), strict=True))
        with torch.inference_mode():
            inferred = by_kernels(compiled, case)
    for one, two, three in zip(results, again, inferred, strict=True):
        assert torch.equal(one.h, two.h)
        assert torch.equal(one.c, two.c)
        assert torch.equal(one.h, three.h)
        assert torch.equal(one.c, three.c)


@every_instruction_set
def test_company_changes_no_bit(compiled: ModuleType, threads: Any, instruction_set: str) -> None:
    """Nor do threads, a second encoder, or zeros given as a state."""
    lengths = [7, 1, 0, 130, 2, 2, 9, 1] * 40
    case = case_of(lengths, 4, 11, 2, 2)
    with compiled.use_instruction_set(instruction_set), torch.no_grad():
        together = by_kernels(compiled, case)
        threads(3)
        zeros = [LSTMState(torch.zeros_like(s.h), torch.zeros_like(s.c)) for s in together]
        by_three = by_kernels(compiled, Case(case.x, case.offset, case.encoders, zeros, case.gradients))
        assert all(torch.equal(a.h, b.h) for a, b in zip(together, by_three, strict=True))
        for edge in range(8):
            rows = slice(int(case.offset[edge]), int(case.offset[edge + 1]))
            offset = torch.tensor([0, lengths[edge]])
            for one, result in zip(case.encoders, together, strict=True):
                ((h, c),) = compiled.lstm(case.x[rows], offset, [one])
                assert torch.equal(h[:, 0], result.h[:, edge])
                assert torch.equal(c[:, 0], result.c[:, edge])


def test_tensors_may_lie_anyhow(compiled: ModuleType) -> None:
    case = case_of([3, 1, 4], 6, 5, 1, 1, True)
    x = torch.stack([case.x, case.x], dim=-1)[..., 0]
    w, u, b = case.encoders[0][0]
    layer = LSTMWeights(w.t().contiguous().t(), u.t().contiguous().t(), b.repeat_interleave(2)[::2])
    assert case.states is not None
    h = case.states[0].h.transpose(0, 1).contiguous().transpose(0, 1)
    ((h_anyhow, _),) = compiled.lstm(x, case.offset, [[layer]], [(h, case.states[0].c)])
    assert not x.is_contiguous()
    assert torch.equal(h_anyhow, by_kernels(compiled, case)[0].h)


def test_rows_of_no_edge_are_not_read_and_have_no_gradient(compiled: ModuleType) -> None:
    case = case_of([2, 3], 3, 4).to(torch.float32)
    x = torch.cat([torch.full((1, 3), torch.nan), case.x.detach(), torch.full((2, 3), torch.nan)]).requires_grad_()
    ((h, _),) = compiled.lstm(x, case.offset + 1, case.encoders)
    assert torch.equal(h, by_kernels(compiled, case)[0].h)
    h.sum().backward()
    assert x.grad is not None
    assert x.grad[[0, -2, -1]].eq(0).all()
    assert x.grad[1:-2].ne(0).all()


def test_only_what_was_asked_for_and_used_has_a_gradient(compiled: ModuleType) -> None:
    """An encoder whose result nobody used gets None: an optimiser must not touch its weights."""
    case = case_of([2, 3], 3, 4, 2, 2, True).to(torch.float32)
    assert case.states is not None
    states = [(state.h.detach(), state.c.detach()) for state in case.states]
    _, (h, _) = compiled.lstm(case.x.detach(), case.offset, case.encoders, states)
    h[-1].sum().backward()
    unused, used = case.encoders
    assert all(part.grad is None for layer in unused for part in layer)
    assert all(part.grad is not None for layer in used for part in layer)
    only_x = case.x.detach().requires_grad_()
    bare = [[LSTMWeights(*(part.detach() for part in layer)) for layer in layers] for layers in case.encoders]
    (_, c), _ = compiled.lstm(only_x, case.offset, bare, states)
    c.sum().backward()
    assert only_x.grad is not None
    assert only_x.grad.any()


def test_going_back_twice_gives_the_same(compiled: ModuleType) -> None:
    case = case_of([2, 30], 3, 4, 2, 1, True).to(torch.float32)
    total = case.total(by_kernels(compiled, case))
    first = torch.autograd.grad(total, case.tensors, retain_graph=True)
    by_kernels(compiled, case)  # might take memory that is still needed
    assert all(torch.equal(a, b) for a, b in zip(first, torch.autograd.grad(total, case.tensors), strict=True))


def test_wrong_tensors_are_refused(compiled: ModuleType) -> None:
    case = case_of([2, 3], 3, 4)
    with pytest.raises(ValueError, match="offset must not decrease"):
        compiled.lstm(case.x, torch.tensor([0, 3, 2]), case.encoders)
    with pytest.raises(ValueError, match="offset must end within x"):
        compiled.lstm(case.x, torch.tensor([0, 6]), case.encoders)
    with pytest.raises(ValueError, match="offset must not decrease"):
        compiled.lstm(case.x, torch.tensor([-1, 2]), case.encoders)
    with pytest.raises(ValueError, match="w must have the shape"):
        compiled.lstm(case.x[:, :2], case.offset, case.encoders)
    with pytest.raises(ValueError, match="x must be float32 on the CPU"):
        compiled.lstm(case.x.double(), case.offset, case.encoders)
    with pytest.raises(ValueError, match="h must have the shape"):
        compiled.lstm(case.x, case.offset, case.encoders, [(torch.zeros(1, 2, 3), torch.zeros(1, 2, 4))])
    with pytest.raises(ValueError, match="instruction set must be one of"), compiled.use_instruction_set("abacus"):
        pass


def test_inference_keeps_nothing_however_long_the_history() -> None:
    """Kept for the way back, 200,000 events of 64 units would be 300 MB."""
    script = """
import resource, torch, gtea_kernels
weights = [(torch.rand(256, 1), torch.rand(256, 64), torch.rand(256)), (torch.rand(256, 64),) * 2 + (torch.rand(256),)]
def run(num_events):
    with torch.inference_mode():
        gtea_kernels.lstm(torch.rand(num_events, 1), torch.tensor([0, num_events]), [weights])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = run(100)
print((run(200_000) - before) // 1024)
"""
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert int(out) < 30


def test_the_peak_is_measured(compiled: ModuleType) -> None:
    assert compiled.peak_gflops(1) > 1


@every_instruction_set
def test_numbers_without_a_usual_form_are_zero_in_the_kernels_alone(compiled: ModuleType, instruction_set: str) -> None:
    """Each operation on one would take some processors a hundred times as long."""
    case = case_of([3, 1, 2], d=8).to(torch.float32)
    tiny = torch.finfo(torch.float32).tiny
    with compiled.use_instruction_set(instruction_set):
        results = by_kernels(compiled, case)
        for state in case.gradients:
            state.h.fill_(tiny / 2)
            state.c.fill_(tiny / 2)
        for gradient in torch.autograd.grad(
            [results[0].h, results[0].c], case.tensors, [case.gradients[0].h, case.gradients[0].c]
        ):
            assert gradient.abs().max() == 0
    assert float(torch.full((1,), tiny) * 0.5) > 0
