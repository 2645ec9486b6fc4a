"""The shared library, its functions with their C types, and its errors as Python exceptions.

ctypes releases the GIL while a function runs. Nothing here checks an argument: ``gtea_kernels.tensors`` does that, and
every pointer passed on must come from there.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_double, c_int, c_int64, c_void_p
from pathlib import Path
from typing import Any

try:
    _library = ctypes.CDLL(str(Path(__file__).with_name("libgtea_kernels.so")))
except OSError as error:
    raise ImportError(f"the compiled library can't be loaded: {error}") from error

Pointers = ctypes.Array[c_void_p]
"""A C array of pointers to tensors' memory."""


class Saved(ctypes.Structure):
    """GteaSaved in c_api.cpp."""

    _fields_ = (("memory", c_void_p), ("num_floats", c_int64), ("num_threads", c_int64))
    memory: int
    num_floats: int
    num_threads: int


def _raise_unless_ok(status: int, function: Any, arguments: Any) -> None:
    """Called by ctypes on what a function returns."""
    if status:
        error = {1: ValueError, 2: MemoryError}.get(status, RuntimeError)
        raise error(last_error().decode())


def _function(name: str, *argument_types: Any) -> Any:
    function = getattr(_library, f"gtea_{name}")
    function.argtypes = argument_types
    function.restype = c_int
    function.errcheck = _raise_unless_ok
    return function


def _plain(name: str, result_type: Any, *argument_types: Any) -> Any:
    """A function that can't fail."""
    function = getattr(_library, f"gtea_{name}")
    function.argtypes = argument_types
    function.restype = result_type
    return function


last_error = _plain("last_error", c_char_p)
instruction_set = _plain("instruction_set", c_char_p, c_int)
release = _plain("release", None, c_void_p)

_CALL = (c_int, c_int)  # index of the instruction set, most threads
_LSTM = (*_CALL, *[c_int64] * 6, c_int, c_void_p)  # sizes, whether there are first states, inputs
lstm_forward = _function("lstm_forward", *_LSTM, c_int64, c_int, c_void_p, POINTER(Saved))
lstm_backward = _function("lstm_backward", *_LSTM, POINTER(Saved), c_void_p, c_int, c_void_p)
encode_times = _function("encode_times", *_CALL, *[c_int64] * 3, c_void_p, c_double, *[c_void_p] * 4)
encode_times_backward = _function("encode_times_backward", *_CALL, *[c_int64] * 3, c_void_p, c_double, *[c_void_p] * 5)
attend_last = _function("attend_last", *_CALL, *[c_int64] * 5, *[c_void_p] * 6)
attend_last_backward = _function("attend_last_backward", *_CALL, *[c_int64] * 5, *[c_void_p] * 9)
sum_neighbours = _function("sum_neighbours", c_int, *[c_int64] * 5, *[c_void_p] * 7)
peak_gflops = _function("peak_gflops", *_CALL, POINTER(c_double))
