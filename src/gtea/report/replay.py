"""The command that makes a page again."""

from __future__ import annotations

import shlex

from gtea.report.case import Case
from gtea.report.shown import shown


def replay_command(case: Case) -> str:
    """What to type. An id that a shell would not take as it is shown is given in the shell's own quoting."""
    about, common = case.explanation, case.common
    words = ["gtea", "explain", common.model_name, common.store_name, "--as-of", about.as_of, "--html", "case.html"]
    return f"{' '.join(shlex.quote(word) for word in words)} {_quoted(about.account)}"


def _quoted(account: str) -> str:
    if account.isprintable():
        # A word that begins with a dash would be read as an option.
        return ("-- " if account.startswith("-") else "") + shown(shlex.quote(account))
    spelt = "".join(c if c.isprintable() and c not in "'\\" else _octal(c) for c in account[:512])
    return f"$'{spelt}'"


def _octal(character: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in character.encode())
