"""Where stores and models are: a path, or an address in an object store, of which a local copy is used.

A command that reads one has it as an argument of the type ``STORE`` or ``MODEL``. The copy is brought when the command
line is read, so all that follows has a path. What a command writes has the type ``LOCAL``: an address is refused there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from gtea.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    _TextType = click.ParamType[str]
else:
    _TextType = click.ParamType  # generic only in later versions


class _BroughtPath(_TextType):
    """A path, or the address of what is brought here."""

    def __init__(self, name: Literal["store", "model"]) -> None:
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The path of what was given, or of its local copy."""
        from gtea.runtime.remote_folder import is_address

        return str(self._brought(value)) if is_address(value) else str(value)

    def _brought(self, address: str) -> Path:
        from gtea.cli.bars import progress_bar
        from gtea.runtime.remote_folder import parse_remote

        found = parse_remote(address)
        with progress_bar() as progress:
            if self.name == "store":
                from gtea.store.store_transfer import bring_store

                return bring_store(found, progress)
            from gtea.models.model_transfer import bring_model

            return bring_model(found, progress)


class _LocalPath(_TextType):
    """A path on this machine, or in a folder that others share."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The path; an address is refused, and not repeated."""
        from gtea.ingestion.database_address import is_database
        from gtea.runtime.remote_folder import is_address

        if is_address(value) and not is_database(value):
            name = "path" if param is None else param.opts[0]
            raise UsageError(
                f"{name}: must be a path on this machine (got an address). Make it here, and send it with gtea copy."
            )
        return str(value)


STORE, MODEL, LOCAL = _BroughtPath("store"), _BroughtPath("model"), _LocalPath()
TABLE = click.types.FuncParamType(str)
"""A file, a table of a database, or an object: what writes it says what it takes."""

_RESULTS = ("out", "work", "cache", "record", "resume")
"""The names of options for what a command writes."""


def refuse_addresses_as_results(command: click.Command) -> None:
    """Let no command write a folder that has an address for a name. What can write there has a type of its own."""
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        refuse_addresses_as_results(each)
    for option in command.params:
        if option.name in _RESULTS and option.type is click.STRING:
            option.type = LOCAL
