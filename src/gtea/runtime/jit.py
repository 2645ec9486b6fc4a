"""The decorator for all compiled functions: numba, without the GIL, cached on disk between runs.

Releasing the GIL lets a background thread build batches while the model computes. ``fastmath`` is off because the
same seed must give the same bytes. The cache has one drawback: numba checks the modification time of the file that
defines a function, not of the files whose functions it calls. After editing a compiled function that is called from
another file, run ``make clean``.

numba keeps what it compiled in pickles, and loading a pickle runs any code in it. So the cache must be in a folder that
nobody else can write to: the one that numba chooses (beside the source, or that of NUMBA_CACHE_DIR) if it is one, else
a folder of our own in the user's cache; and if that isn't one either, everything is compiled in every run.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def jit(function: Function) -> Function:
    """Compile a function of scalars and arrays on its first call."""
    compiled = _cached(function)
    if compiled is None:
        with _cache_in_own_folder():
            compiled = _cached(function)
    return cast(Function, compiled or _njit(function, cache=False))


def _njit(function: Callable[..., Any], *, cache: bool) -> Any:
    return numba.njit(nogil=True, error_model="numpy", cache=cache)(function)


def _cached(function: Callable[..., Any]) -> Any:
    """The function with a cache on disk; None if there is no folder that is safe and can be written to."""
    try:
        compiled = _njit(function, cache=True)
    except RuntimeError:  # as in a container without a home folder
        return None
    statistics = getattr(compiled, "stats", None)  # none if NUMBA_DISABLE_JIT leaves the function as it is
    return compiled if statistics is None or only_ours(statistics.cache_path) else None


@contextlib.contextmanager
def _cache_in_own_folder() -> Iterator[None]:
    """Let numba choose a folder that only this user can write to. numba reads its setting while it decorates."""
    settings: Any = numba.config
    before = settings.CACHE_DIR
    with contextlib.suppress(OSError, RuntimeError):
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gtea-numba"
        for made in (folder.parent, folder):
            made.mkdir(mode=0o700, parents=True, exist_ok=True)
        settings.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        settings.CACHE_DIR = before


@cache
def only_ours(folder: str) -> bool:
    """Whether nobody but this user and root can put a file into a folder, or another folder in its place."""
    path = Path(folder).absolute()
    try:
        above = {*path.parents, *path.resolve().parents}
        return _is_safe(path, sticky_is_safe=False) and all(_is_safe(parent, sticky_is_safe=True) for parent in above)
    except OSError:
        return False


def _is_safe(folder: Path, *, sticky_is_safe: bool) -> bool:
    """Sticky means that others can add entries, as in /tmp, but can't replace ours."""
    found = folder.stat()
    writable_by_others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    sticky = sticky_is_safe and found.st_mode & stat.S_ISVTX
    return found.st_uid in (os.geteuid(), 0) and (not writable_by_others or bool(sticky))
