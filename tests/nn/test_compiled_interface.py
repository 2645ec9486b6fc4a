"""The border between Python and the compiled library: wrong calls, threads, forks, and memory that must go back."""

from __future__ import annotations

import ctypes
import importlib
import os
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from tests.nn.examples import seeded
from torch import Tensor

from gtea.nn.kernels import kernels

COMPILED: Any = kernels()
pytestmark = pytest.mark.skipif(
    COMPILED is None, reason="gtea_kernels is not installed or switched off: pip install ./kernels"
)
Arguments = dict[str, Tensor]


def lstm(a: Arguments) -> Tensor:
    ((h, c),) = COMPILED.lstm(a["x"], a["offset"], [[(a["w"], a["u"], a["b"])]], [(a["h"], a["c"])])
    return torch.cat([h, c])


def attention(a: Arguments) -> Tensor:
    result: Tensor = COMPILED.attend_last(**a)
    return result


def times(a: Arguments) -> Tensor:
    result: Tensor = COMPILED.times_and_features(**a, longest_period=1.0)
    return result


def neighbours(a: Arguments) -> Tensor:
    result: Tensor = COMPILED.sum_neighbours(**a, num_targets=2)
    return result


def arguments(function: Callable[[Arguments], Tensor]) -> Arguments:
    """A right call: two edges with three events, or three slots of two targets."""
    offset, places = torch.tensor([0, 2, 3]), {"neighbour": torch.tensor([0, 4, 1]), "target": torch.tensor([0, 1, 1])}
    sizes: dict[Any, dict[str, tuple[int, ...]]] = {
        lstm: {"x": (3, 3), "w": (16, 3), "u": (16, 4), "b": (16,), "h": (1, 2, 4), "c": (1, 2, 4)},
        attention: {"q": (2, 2, 4), "k": (3, 2, 4), "e": (3, 5)},
        times: {"time": (3,), "features": (3, 2), "omega": (4,), "phi": (4,)},
        neighbours: {"from_node": (5, 4), "e": (3, 2), "weight": (4, 2), "alpha": (3,)},
    }
    drawn = {name: torch.randn(size, generator=seeded(i)) for i, (name, size) in enumerate(sizes[function].items())}
    whole: dict[Any, Arguments] = {lstm: {"offset": offset}, attention: {"offset": offset}, neighbours: places}
    return drawn | whole.get(function, {})


KERNELS = (lstm, attention, times, neighbours)
each_argument = pytest.mark.parametrize(
    ("kernel", "name"),
    [pytest.param(kernel, name, id=f"{kernel.__name__}-{name}") for kernel in KERNELS for name in arguments(kernel)],
)


@each_argument
def test_a_wrong_type_is_refused(kernel: Any, name: str) -> None:
    for dtype in (torch.float64, torch.float16, torch.int32):
        wrong = arguments(kernel)
        wrong[name] = wrong[name].to(dtype)
        with pytest.raises(ValueError, match=rf"^{name} must be .* on the CPU \(got torch.{str(dtype)[6:]}"):
            kernel(wrong)


@each_argument
def test_another_device_is_refused(kernel: Any, name: str) -> None:
    wrong = arguments(kernel)
    wrong[name] = wrong[name].to("meta")
    with pytest.raises(ValueError, match=rf"^{name} must be .* on the CPU \(got .* on meta\)"):
        kernel(wrong)


@each_argument
def test_too_short_a_tensor_is_refused(kernel: Any, name: str) -> None:
    """It would be read beyond its end. Where a size is free, others no longer fit."""
    wrong = arguments(kernel)
    wrong[name] = wrong[name][:-1]
    with pytest.raises(ValueError, match=r" must "):
        kernel(wrong)


@each_argument
def test_another_number_of_dimensions_is_refused(kernel: Any, name: str) -> None:
    wrong = arguments(kernel)
    wrong[name] = wrong[name][None]
    with pytest.raises(ValueError, match=rf"^{name} must "):
        kernel(wrong)


@each_argument
def test_a_tensor_that_is_not_contiguous_is_read_right(kernel: Any, name: str) -> None:
    given = arguments(kernel)
    expected = kernel(given)
    given[name] = torch.stack([given[name], -given[name] - 1], dim=-1)[..., 0]
    assert not given[name].is_contiguous()
    assert torch.equal(kernel(given), expected)


def test_a_sparse_tensor_is_refused() -> None:
    with pytest.raises((ValueError, RuntimeError)):
        times(arguments(times) | {"features": torch.ones(3, 2).to_sparse()})


@pytest.mark.parametrize("offset", [[0, 2, 4], [0, 3, 2], [-1, 2, 3], [0, 2**62, 3]], ids=str)
def test_offsets_beyond_the_events_are_refused(offset: list[int]) -> None:
    for kernel in (lstm, attention):
        with pytest.raises(ValueError, match=r"^offset must "):
            kernel(arguments(kernel) | {"offset": torch.tensor(offset)})


def test_sizes_of_zero_that_have_no_meaning_are_refused() -> None:
    with pytest.raises(ValueError, match="offset must have num_edges"):
        lstm(arguments(lstm) | {"offset": torch.zeros(0, dtype=torch.int64)})
    with pytest.raises(ValueError, match="u must have at least one column"):
        COMPILED.last_h(torch.ones(1, 3), torch.tensor([0, 1]), [[(torch.ones(0, 3), torch.ones(0, 0), torch.ones(0))]])
    with pytest.raises(ValueError, match="q must have at least one entry per head"):
        attention(arguments(attention) | {"q": torch.ones(2, 2, 0), "k": torch.ones(3, 2, 0)})
    with pytest.raises(ValueError, match="num_targets must be at least 0"):
        COMPILED.sum_neighbours(**arguments(neighbours), num_targets=-1)
    with pytest.raises(ValueError, match="num_threads must be at least 1"):
        COMPILED.peak_gflops(0)


def test_a_gradient_of_another_type_is_refused() -> None:
    given = arguments(attention)
    e = given["e"].requires_grad_()
    saved = torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t[:1])
    with saved:
        out = attention(given | {"e": e})
    with pytest.raises(ValueError, match=" must "):
        out.sum().backward()


def test_without_edges_and_without_events() -> None:
    """The LSTM keeps the first state, attention gives zeros, and the gradients are those of that."""
    w, u, b = (arguments(lstm)[name].requires_grad_() for name in "wub")
    for num_edges in (0, 3):
        offset, x = torch.zeros(num_edges + 1, dtype=torch.int64), torch.zeros(0, 3)
        h, c = torch.randn(1, num_edges, 4, generator=seeded(1)).requires_grad_(), torch.zeros(1, num_edges, 4)
        ((h_last, _),) = COMPILED.lstm(x, offset, [[(w, u, b)]], [(h, c)])
        assert torch.equal(h_last, h)
        of_w, of_h = torch.autograd.grad(h_last.sum(), (w, h))
        assert not of_w.any()
        assert bool(of_h.eq(1).all())
        q = torch.ones(num_edges, 2, 4, requires_grad=True)
        attended = COMPILED.attend_last(q, torch.zeros(0, 2, 4), torch.zeros(0, 5), offset)
        assert attended.shape == (num_edges, 2, 5)
        assert not attended.any()
        attended.sum().backward()
        assert q.grad is not None
        assert not q.grad.any()
    empty = {name: tensor[:0] for name, tensor in arguments(times).items() if name in ("time", "features")}
    assert times(arguments(times) | empty).shape == (0, 6)
    no_slots = {
        name: tensor[:0] for name, tensor in arguments(neighbours).items() if name not in ("from_node", "weight")
    }
    assert not neighbours(arguments(neighbours) | no_slots).any()


needs_proc = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")


def num_threads() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


class Training:
    """One step of a batch that is large enough for two threads."""

    def __init__(self) -> None:
        generator = seeded()
        lengths = torch.randint(0, 9, (600,), generator=generator)
        self.offset = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
        self.x = torch.randn(int(lengths.sum()), 5, generator=generator)
        self.layer = [torch.randn(size, generator=generator).requires_grad_() for size in ((48, 5), (48, 12), (48,))]

    def gradients(self) -> list[Tensor]:
        (h,) = COMPILED.last_h(self.x, self.offset, [[self.layer]])
        return [h.detach(), *torch.autograd.grad(h.square().sum(), self.layer)]

    def same(self, expected: list[Tensor]) -> bool:
        return all(torch.equal(a, b) for a, b in zip(self.gradients(), expected, strict=True))


@pytest.fixture
def training() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield Training()
    torch.set_num_threads(before)


def test_two_python_threads_may_call_at_once(training: Training) -> None:
    expected, results = training.gradients(), []

    def repeat() -> None:
        torch.set_num_threads(2)  # as each thread has its own setting
        results.append(all(training.same(expected) for _ in range(50)))

    threads = [threading.Thread(target=repeat) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 3


@needs_proc
def test_a_forked_child_may_call(training: Training) -> None:
    """The child has none of the threads that the library started in its parent, and must start its own."""
    expected = training.gradients()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks with threads
        child = os.fork()
    if child == 0:
        code = 2
        try:
            with torch.no_grad():  # autograd's own threads don't survive a fork
                (h,) = COMPILED.last_h(training.x, training.offset, [[training.layer]])
            code = 0 if torch.equal(h, expected[0]) and num_threads() > 1 else 1
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert training.same(expected)


@needs_proc
def test_the_library_starts_no_more_threads_than_asked_for(training: Training) -> None:
    training.gradients()
    before = num_threads()
    for _ in range(20):
        training.gradients()
    assert num_threads() == before


def test_what_is_saved_goes_back_as_soon_as_it_can(training: Training, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the backward pass, though the loss is still alive; and with a graph that is dropped without one."""
    library = importlib.import_module("gtea_kernels.library")
    release = library.release
    released: list[Any] = []

    def recorded(address: Any) -> None:
        released.append(address)
        release(address)

    monkeypatch.setattr(library, "release", recorded)

    def run() -> Tensor:
        (h,) = COMPILED.last_h(training.x, training.offset, [[training.layer]])
        return cast(Tensor, h.sum())

    loss = run()
    assert released == []
    loss.backward()
    assert len(released) == 1
    dropped = run()
    assert len(released) == 1
    del dropped
    assert len(released) == 2
    assert loss.isfinite()


def test_a_library_that_does_not_load_is_an_import_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which gtea takes for a missing package, and goes on with PyTorch."""
    library = importlib.import_module("gtea_kernels.library")

    def refuse(path: str) -> None:
        raise OSError("wrong ELF class")

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    with pytest.raises(ImportError, match=r"can't be loaded: wrong ELF class"):
        importlib.reload(library)
