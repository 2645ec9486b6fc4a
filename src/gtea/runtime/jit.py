"""The one way in which functions are compiled: numba, without the GIL, kept on disk between runs.

Without the GIL, batches are made in a background thread while the model works. ``fastmath`` stays off: the same
seed must give the same bytes. The price of keeping: numba compares the age of the file in which a function stands,
not of the files whose functions it calls. After editing a compiled function that another file calls, run
``make clean``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def jit(function: Function) -> Function:
    """Compile a function of scalars and arrays when it is first called."""
    try:
        return cast(Function, numba.njit(nogil=True, error_model="numpy", cache=True)(function))
    except RuntimeError:
        # Nowhere to write, as in a container without a home: compile anew in every run.
        return cast(Function, numba.njit(nogil=True, error_model="numpy")(function))
