"""What an error of the operating system means: the disk is full, can't be written, or is failing.

Python raises such an error as an OSError. DuckDB, Arrow and safetensors raise errors of their own, with the system's
words in their text. Here all of them become a StoreError that names the path, its disk, and how much is too little.
"""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from gtea.errors import GteaError, StoreError

DRAFT = ".gtea-"
"""What the name of an unfinished file has in it (gtea.runtime.files). Users know the file by its final name."""
_SPACE = "Free some space, or write to another disk."
_ACCESS = "Check its permissions, or write to another place."
_REMEDIES = {
    errno.ENOSPC: _SPACE,
    errno.EDQUOT: _SPACE,
    errno.EFBIG: "Raise the limit on the size of a file (ulimit -f), or write to another disk.",
    errno.EROFS: "Write to another disk.",
    errno.EIO: "The disk may be failing: check it, or write to another disk.",
    errno.EACCES: _ACCESS,
    errno.EPERM: _ACCESS,
}
# In other libraries' words, "permission denied" may be about an input file.
_WORDS = {os.strerror(code): code for code, remedy in _REMEDIES.items() if remedy != _ACCESS}
# DuckDB limits what it spills by what was free at its start. Beyond the limit, it says that memory is out.
_WORDS["max_temp_directory_size"] = errno.ENOSPC
# SQLite's words.
_WORDS |= {"database or disk is full": errno.ENOSPC, "disk I/O error": errno.EIO}


def disk_error(error: BaseException, path: Path | None = None) -> StoreError | None:
    """The StoreError that an error stands for; None if it is not about a disk.

    Args:
        error: Any exception. What it was raised from counts, too.
        path: What was being written, if that is known. An OSError may name another file.
    """
    each: BaseException | None = error
    while each is not None and not isinstance(each, GteaError):
        code = _code(each)
        if code is not None and (each is error or _REMEDIES[code] != _ACCESS):
            named = os.fsdecode(each.filename) if isinstance(each, OSError) and each.filename else ""
            subject = Path(named) if named and not (path and DRAFT in named) else path
            where = "" if subject is None else f"{subject}: "
            return StoreError(f"{where}{os.strerror(code)}{_facts(code, subject)}. {_REMEDIES[code]}")
        each = each.__cause__ or each.__context__
    return None


def system_error(error: Exception) -> StoreError | None:
    """The StoreError that any error of the operating system stands for; None if it is an error of another kind."""
    found = disk_error(error)
    if found is None and isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        found = StoreError(f"{where}{error.strerror or error}. Check space and permissions.")
    return found


def _code(error: BaseException) -> int | None:
    """The number of the system's error that an exception is, or has the words of."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno if error.errno in _REMEDIES else None
    return next((code for words, code in _WORDS.items() if words in str(error)), None)


def _facts(code: int, path: Path | None) -> str:
    """The disk, and what is free on it now that what was written has been deleted: that was too little."""
    if _REMEDIES[code] != _SPACE or path is None:
        return ""
    there = next(place for place in (path.absolute(), *path.absolute().parents) if place.exists()).resolve()
    disk = next(place for place in (there, *there.parents) if place.is_mount())
    return f" (disk {disk}, {shutil.disk_usage(there).free / 1e6:,.1f} MB free; more is needed)"
