"""The compiled time encoding against Time2Vec in PyTorch, on every instruction set that this machine has."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.nn.examples import seeded
from torch import Tensor

from gtea.nn.kernels import kernels
from gtea.nn.time2vec import Time2Vec

COMPILED = kernels()
pytestmark = pytest.mark.skipif(
    COMPILED is None, reason="gtea_kernels is not installed or switched off: pip install ./kernels"
)
INSTRUCTION_SETS = COMPILED.instruction_sets() if COMPILED else ["none"]
every_instruction_set = pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)


def rows_and_gradients(module: Time2Vec, t: Tensor, f: Tensor, weight: Tensor, instruction_set: str) -> list[Tensor]:
    """[tau(t) || f] and the gradients of omega, phi and f, by the kernels."""
    assert COMPILED is not None
    module.zero_grad()
    f = f.clone().requires_grad_()
    with COMPILED.use_instruction_set(instruction_set):
        rows = module.concatenate(f, t)
        rows.backward(weight)
    assert module.omega.grad is not None
    assert module.phi.grad is not None
    assert f.grad is not None
    return [rows.detach(), module.omega.grad.clone(), module.phi.grad.clone(), f.grad]


@every_instruction_set
@settings(max_examples=60, deadline=None)
@given(
    num_events=st.sampled_from([0, 1, 5, 63, 64, 65, 4096, 9001]),
    d_time=st.integers(2, 35),
    d_features=st.integers(0, 9),
    years=st.sampled_from([0.01, 1.0, 30.0]),
    seed=st.integers(0, 999),
)
def test_it_says_what_the_twin_says(
    instruction_set: str, num_events: int, d_time: int, d_features: int, years: float, seed: int
) -> None:
    """A minute is the shortest period: thirty years of minutes are a hundred million radians."""
    days, generator = 365 * years, torch.Generator().manual_seed(seed)
    module = Time2Vec(d_time, 1 / 1440, days, seeded(seed))
    t = days * (2 * torch.rand(num_events, generator=generator) - 0.5)
    f = torch.randn(num_events, d_features, generator=generator)
    weight = torch.randn(num_events, d_time + d_features, generator=generator)
    rows, domega, dphi, df = rows_and_gradients(module, t, f, weight, instruction_set)

    twin = Time2Vec(d_time, 1 / 1440, days, seeded(seed)).double()
    with torch.no_grad():
        twin.omega.copy_(module.omega)
        twin.phi.copy_(module.phi)
    expected = twin.concatenate(f.double(), t)
    expected.backward(weight.double())
    torch.testing.assert_close(rows, expected.float(), atol=1e-6, rtol=1e-6)
    size = max(1.0, num_events**0.5)
    for got, true in ((domega, twin.omega.grad), (dphi, twin.phi.grad)):
        torch.testing.assert_close(
            got, (torch.zeros(d_time) if true is None else true.float()), atol=2e-6 * size, rtol=1e-5
        )
    assert torch.equal(df, weight[:, d_time:])


@every_instruction_set
def test_neither_company_nor_threads_change_a_bit(instruction_set: str) -> None:
    module = Time2Vec(16, 1 / 1440, 1000.0, seeded())
    t, f = 1000 * torch.rand(20_000, generator=seeded(1)), torch.randn(20_000, 3, generator=seeded(2))
    weight = torch.randn(20_000, 19, generator=seeded(3))
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = rows_and_gradients(module, t, f, weight, instruction_set)
        torch.set_num_threads(2)
        together = rows_and_gradients(module, t, f, weight, instruction_set)
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(alone, together, strict=True))
    one = rows_and_gradients(module, t[777:778], f[777:778], weight[777:778], instruction_set)[0]
    assert torch.equal(one[0], alone[0][777])


def test_a_gradient_by_time_comes_from_the_twin() -> None:
    module = Time2Vec(4, 1.0, 10.0, seeded())
    t = torch.tensor([1.0, 2.0], requires_grad=True)
    module.concatenate(torch.zeros(2, 1), t).sum().backward()
    assert t.grad is not None
    assert bool((t.grad != 0).all())


def test_wrong_shapes_are_refused() -> None:
    assert COMPILED is not None
    fine = (torch.zeros(3), torch.zeros(3, 2), torch.zeros(4), torch.zeros(4))
    for at, wrong in ((1, torch.zeros(2, 2)), (3, torch.zeros(5)), (0, torch.zeros(3).double()), (1, torch.zeros(3))):
        given = [wrong if i == at else tensor for i, tensor in enumerate(fine)]
        with pytest.raises(ValueError, match="must"):
            COMPILED.times_and_features(*given, 1.0)
