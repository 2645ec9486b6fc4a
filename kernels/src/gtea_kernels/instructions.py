"""Which of the machine's instruction sets is used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref, c_double
from itertools import count, takewhile

from gtea_kernels import library

_NAMES: list[str] = [name.decode() for name in takewhile(bool, map(library.instruction_set, count()))]
_chosen = [0]


def instruction_sets() -> list[str]:
    """Those that this build has and this machine can run, the fastest first; the last one runs everywhere."""
    return list(_NAMES)


def instruction_set() -> str:
    """The name of the one in use."""
    return _NAMES[_chosen[-1]]


def instruction_set_index() -> int:
    """The one in use, as the library counts them."""
    return _chosen[-1]


@contextmanager
def use_instruction_set(name: str) -> Iterator[None]:
    """Use another one than the fastest, for tests and measurements."""
    if name not in _NAMES:
        raise ValueError(f"instruction set must be one of {', '.join(_NAMES)} (got {name!r})")
    _chosen.append(_NAMES.index(name))
    try:
        yield
    finally:
        _chosen.pop()


def peak_gflops(num_threads: int) -> float:
    """The rate of multiply-adds that stay in registers, in 10^9 floating-point operations a second."""
    gflops = c_double()
    library.peak_gflops(instruction_set_index(), num_threads, byref(gflops))
    return gflops.value
