"""One process at a time in a folder."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from gtea.errors import UsageError
from gtea.store.publish import try_lock


@contextlib.contextmanager
def alone(folder: Path, patience: float) -> Iterator[int]:
    """Keep others out of a folder, made if there is none, while the body runs; gives the handle that holds the lock.

    The lock ends with its process, however that ends, and with the helpers that the handle was passed on to.

    Args:
        patience: How many seconds to wait for somebody else.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        deadline = time.monotonic() + patience
        while not try_lock(handle, exclusive=True):
            if time.monotonic() > deadline:
                raise UsageError(f"{folder}: another gtea reproduce works on it. Wait for it, or choose another --out.")
            time.sleep(0.1)
        yield handle
    finally:
        os.close(handle)
