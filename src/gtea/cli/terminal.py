"""What is written to standard output and standard error. No other module of gtea writes there, except ``cli/bars.py``.

Whatever is written comes out inert, and each line given is one line: names come from strangers. ``make check`` refuses
``click.echo`` and the like elsewhere (TID251), so that a new command can't forget it.
"""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Iterator, Sequence

import click

from gtea.runtime.printable import printable, shortened, without_passwords

_LONGEST_CELL = 64
_NOT_ASCII = re.compile(r"[^\n -~]")


def say(*lines: str) -> None:
    """Print lines on standard output."""
    click.echo("\n".join(map(_inert, lines)))


def warn(*lines: str) -> None:
    """Print lines on standard error."""
    click.echo("\n".join(map(_inert, lines)), err=True)


def cell(name: str) -> str:
    """A name in a table for people, cut: the rest of it must not pose as a row in the next line of the terminal."""
    return shortened(name, _LONGEST_CELL)


def ask(question: str, names: Sequence[str]) -> str:
    """The one of some names that the user chooses."""
    shown = {printable(name): name for name in names}
    answer: str = click.prompt(printable(question), type=click.Choice(list(shown)))
    return shown[answer]


def print_json(content: object) -> None:
    """Print JSON, indented; letters of all languages as they are, all else that is not ASCII escaped."""
    text = json.dumps(content, indent=2, ensure_ascii=False)
    click.echo(_NOT_ASCII.sub(_as_json, without_passwords(text)))


def _inert(line: str) -> str:
    return printable(without_passwords(line))


def _as_json(found: re.Match[str]) -> str:
    """A character, or its escape in JSON: that of ``printable`` would be another string."""
    return found[0] if printable(found[0]) == found[0] else json.dumps(found[0])[1:-1]


def print_traceback(error: BaseException) -> None:
    """Print where an exception comes from, and what led to it, on standard error."""
    warn("Traceback (most recent call last):", *_traceback(error))


def _traceback(error: BaseException) -> Iterator[str]:
    # Python's own printing would split messages into lines.
    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if earlier is not None:
        yield from _traceback(earlier)
        yield "which led to:"
    yield from "".join(traceback.format_tb(error.__traceback__)).splitlines()
    yield f"{type(error).__name__}: {error}"


def show_misuse(error: click.ClickException) -> None:
    """Print what click says about a command line. The lines of its message are its own, but for what was typed."""
    vars(error).update(message=_inert(error.message or ""))  # no setter is meant for it
    error.show()


def warning_text(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """A library's warning on one line, in place of ``warnings.formatwarning``."""
    return printable(f"{filename}:{lineno}: {category.__name__}: {message}") + "\n"
