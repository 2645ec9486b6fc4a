"""``--verify``: check every byte of a store before it is used."""

from __future__ import annotations

from pathlib import Path

import click

verify_option = click.option(
    "--verify/--no-verify",
    default=None,
    help="Check every byte of STORE against its digests first; by default where all of it is read anyway.",
)


def check_store(store: str, *, verify: bool) -> None:
    """Refuse a store of which a byte has changed since it was written.

    Args:
        store: The path of the store.
        verify: Whether to check at all.
    """
    if verify:
        from gtea.store.integrity import require_digests
        from gtea.store.store import Store

        require_digests(Store.open(Path(store)))
