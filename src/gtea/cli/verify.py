"""``gtea verify``."""

from __future__ import annotations

from pathlib import Path

import click

from gtea.cli.bars import progress_bar
from gtea.cli.output import json_option
from gtea.cli.places import STORE
from gtea.cli.terminal import print_json, say


@click.command("verify")
@click.argument("store", type=STORE)
@json_option
def command(store: str, as_json: bool) -> None:
    """Check every digest and invariant of STORE and name what is broken.

    Reads every byte. Exit code 0 if all is well, 4 if not.
    """
    from gtea.errors import StoreError
    from gtea.store.verify import verify

    with progress_bar() as progress:
        faults = verify(Path(store).absolute(), progress)
    if as_json:
        print_json({"store": store, "ok": not faults, "faults": faults})
    elif not faults:
        say(f"{store}: all digests and invariants hold")
    if faults and not as_json:
        raise StoreError(
            f"{store}: is damaged:",
            *(f"  {fault}" for fault in faults),
            "Restore it from a backup or ingest again.",
        )
    if faults:
        raise click.exceptions.Exit(StoreError.exit_code)
