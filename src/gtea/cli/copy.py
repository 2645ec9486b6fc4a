"""``gtea copy``."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from gtea.cli.bars import progress_bar
from gtea.cli.output import json_option
from gtea.cli.terminal import print_json, say
from gtea.errors import UsageError
from gtea.runtime.files import draft_folder
from gtea.runtime.progress import Progress


@click.command("copy")
@click.argument("source")
@click.argument("target")
@json_option
def command(source: str, target: str, as_json: bool) -> None:
    """Copy a store, a model or a file to or from an object store.

    SOURCE or TARGET is an address: s3://bucket/folder, gs://bucket/folder or file:///folder. What is copied is checked
    by its digests. Readers of TARGET see nothing of it or all of it: its manifest comes last. A store may take the
    place of an earlier version of itself; nothing else is replaced but a file.

    \b
      gtea copy payments.store s3://bucket/payments.store
      gtea copy s3://bucket/payments.model /data/payments.model
      gtea copy scores.parquet s3://bucket/scores.parquet
    """
    from gtea.runtime.remote_folder import is_address

    if is_address(source) == is_address(target):
        raise UsageError("SOURCE, TARGET: one of them must be an address, the other a path. Try s3://bucket/folder.")
    with progress_bar() as progress:
        what = _send(Path(source), target, progress) if is_address(target) else _bring(source, Path(target), progress)
    if as_json:
        print_json({"kind": what, "source": source, "target": target})
        return
    say(f"{source}: a {what}, copied to {target}")


def _send(source: Path, target: str, progress: Progress) -> str:
    from gtea.models.model_transfer import send_model
    from gtea.runtime.remote_folder import RemoteFolder, parse_remote
    from gtea.store.store_transfer import send_store

    address = parse_remote(target)
    if source.is_file():
        RemoteFolder(address.folder).put(address.name, source)
        return "file"
    if _is_model(source):
        send_model(source, address, progress)
        return "model"
    send_store(source, address, progress)
    return "store"


def _bring(source: str, target: Path, progress: Progress) -> str:
    from gtea.models.model_folder import MANIFEST
    from gtea.models.model_transfer import bring_model
    from gtea.runtime.json_shape import strict_json
    from gtea.runtime.remote_folder import RemoteFolder, parse_remote
    from gtea.store.manifest import MAX_MANIFEST
    from gtea.store.publish import move_into_place
    from gtea.store.store_transfer import bring_store

    address = parse_remote(source)
    if target.exists():
        raise UsageError(f"{target}: exists. Choose another TARGET.")
    try:
        found = strict_json(RemoteFolder(address).read(MANIFEST, MAX_MANIFEST))
    except (ValueError, RecursionError):
        found = None  # the reader of stores says what is wrong with it
    is_model = isinstance(found, dict) and found.get("format") == "gtea-model"
    copy = bring_model(address, progress) if is_model else bring_store(address, progress)
    with draft_folder(target) as draft:
        # Not a link: whoever changes the copy must not change the cache.
        shutil.copytree(copy, draft / "copy")
        move_into_place(draft / "copy", target)
    return "model" if is_model else "store"


def _is_model(folder: Path) -> bool:
    """Whether a folder is a model, finished or not; else it must be a store."""
    return (folder / "config.json").exists() or (folder / "run.json").exists()
