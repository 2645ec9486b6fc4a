"""Which of the machine's instruction sets is used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gtea_kernels import _core

_chosen = [_core.instruction_sets()[0]]


def instruction_sets() -> list[str]:
    """Those that this build has and this machine can run, the fastest first; the last one runs everywhere."""
    return _core.instruction_sets()


def instruction_set() -> str:
    """The one in use."""
    return _chosen[-1]


@contextmanager
def use_instruction_set(name: str) -> Iterator[None]:
    """Another than the fastest, for tests and measurements."""
    if name not in instruction_sets():
        raise ValueError(f"instruction set must be one of {', '.join(instruction_sets())} (got {name!r})")
    _chosen.append(name)
    try:
        yield
    finally:
        _chosen.pop()


def peak_gflops(num_threads: int) -> float:
    """What multiply-adds in registers give, in 10^9 floating-point operations a second."""
    return _core.peak_gflops(num_threads, instruction_set())
