"""Models in object stores: brought to this machine by digest, and sent there so that nobody sees half of one.

As for stores (``gtea.store.store_transfer``). A model never changes: where another one is, none is sent.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from gtea.errors import ModelError
from gtea.models.model_folder import MANIFEST, load_model, model_files
from gtea.runtime.object_cache import RemoteFile, bring_folder
from gtea.runtime.plain_files import read_plain
from gtea.runtime.progress import Progress, no_progress
from gtea.runtime.remote_folder import RemoteAddress, RemoteFolder

_MAX_MANIFEST = 1 << 26


def bring_model(address: RemoteAddress, progress: Progress = no_progress) -> Path:
    """The folder of a local copy of a model."""
    remote = RemoteFolder(address, ModelError)
    content = remote.read(MANIFEST, _MAX_MANIFEST)
    with tempfile.TemporaryDirectory(prefix="gtea-") as folder:
        (Path(folder) / MANIFEST).write_bytes(content)
        try:
            found = model_files(Path(folder))
        except ModelError as error:
            raise ModelError(*(line.replace(folder, str(address)) for line in error.lines)) from None
    files = {name: RemoteFile(*described) for name, described in found.items()}
    name = hashlib.sha256(content).hexdigest()
    return bring_folder(remote, name, files, {MANIFEST: content}, ModelError, progress)


def send_model(model: Path, address: RemoteAddress, progress: Progress = no_progress) -> None:
    """Put a model where nothing is yet."""
    load_model(model)  # refuses what is damaged
    remote = RemoteFolder(address, ModelError)
    own = read_plain(model, MANIFEST, _MAX_MANIFEST, through_link=True)
    if remote.has(MANIFEST):
        if remote.read(MANIFEST, _MAX_MANIFEST) == own:
            return
        raise ModelError(
            f"{address}: has another model, whose readers must not see it change. Choose another address, or delete it "
            "first."
        )
    names = [*model_files(model), MANIFEST]
    for done, name in enumerate(names):
        remote.put(name, model / name)
        progress("uploading", (done + 1) / len(names))
