"""The decorator for all compiled functions: numba, without the GIL, cached on disk between runs.

Releasing the GIL lets a background thread build batches while the model computes. ``fastmath`` is off because the
same seed must give the same bytes. The cache has one drawback: numba checks the modification time of the file that
defines a function, not of the files whose functions it calls. After editing a compiled function that is called from
another file, run ``make clean``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def jit(function: Function) -> Function:
    """Compile a function of scalars and arrays on its first call."""
    try:
        return cast(Function, numba.njit(nogil=True, error_model="numpy", cache=True)(function))
    except RuntimeError:
        # No writable cache folder, as in a container without a home directory: compile in every run.
        return cast(Function, numba.njit(nogil=True, error_model="numpy")(function))
