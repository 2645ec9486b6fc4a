"""Copies of remote files on this machine, by their digests.

    CACHE/files/SHA256          a file, whatever it was called where it came from
    CACHE/folders/SHA256/...    a folder as its manifest says: hard links to files, complete or not there

A file gets its name once all of it has come and its digest fits. So a killed download keeps what was finished, a file
that two stores share comes once, and processes that bring the same thing at once disturb nobody. Only this user can
read or write the folder. It may be deleted at any time when nothing of it is in use.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from gtea.errors import GteaError, StoreError
from gtea.runtime.files import atomic_write, draft_folder, locked
from gtea.runtime.jit import only_ours
from gtea.runtime.progress import Progress, no_progress
from gtea.runtime.remote_folder import RemoteFolder

_AT_ONCE = 4
_SECONDS_TO_WAIT = 24 * 3600.0
_VARIABLE = "GTEA_CACHE"


@dataclass(frozen=True)
class RemoteFile:
    """What a manifest says about a file."""

    sha256: str
    most: int
    """The most bytes that it can have."""


def object_cache() -> Path:
    """The folder of the cache: ``GTEA_CACHE``, else ``gtea`` in the user's cache. Made if it isn't there."""
    given = os.environ.get(_VARIABLE)
    base = Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gtea"
    folder = base.absolute() / "objects"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    if not only_ours(str(folder)):
        raise StoreError(f"{folder}: must be a folder that nobody else can write to. Name another with {_VARIABLE}.")
    return folder


def bring_folder(
    remote: RemoteFolder,
    name: str,
    files: Mapping[str, RemoteFile],
    written: Mapping[str, bytes],
    kind: type[GteaError],
    progress: Progress = no_progress,
) -> Path:
    """A local folder with remote files, of which only those that are missing are downloaded.

    Args:
        name: The digest of what describes the folder.
        files: What is brought, by the path within the folder, there and here.
        written: What is written beside it: the manifest last.
        kind: What to raise if a file is not what its digest says.
    """
    cache = object_cache()
    made = cache / "folders" / name
    if made.exists():
        return made
    busy = StoreError(f"{remote.address}: another process has been downloading it for a day. End it, and try again.")
    with locked(cache / "locks" / name, busy, timeout=_SECONDS_TO_WAIT):
        if made.exists():
            return made
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            brought = pool.map(lambda path: _bring(cache, remote, path, files[path], kind), files)
            for done, _ in enumerate(brought):
                progress("downloading", (done + 1) / len(files))
        with draft_folder(made) as draft:
            for path, file in files.items():
                place = draft / path
                place.parent.mkdir(parents=True, exist_ok=True)
                os.link(cache / "files" / file.sha256, place)
            for path, content in written.items():
                with atomic_write(draft / path) as stream:
                    stream.write(content)
            draft.rename(made)
    return made


def _bring(cache: Path, remote: RemoteFolder, path: str, file: RemoteFile, kind: type[GteaError]) -> None:
    place = cache / "files" / file.sha256
    with contextlib.suppress(FileNotFoundError):
        if place.stat().st_size <= file.most:
            return
    with atomic_write(place) as stream:
        found = remote.fetch(path, stream, file.most)
        if found != file.sha256:
            raise kind(
                f"{remote.where(path)}: its content is not what the manifest says (sha256 {found[:12]}..., must be "
                f"{file.sha256[:12]}...). Upload it again."
            )
