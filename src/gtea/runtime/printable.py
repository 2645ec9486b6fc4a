"""Text from strangers made fit to be read by people: on one line, and without anything that a terminal obeys.

An account id, a column, a class or a file can have any name. Printed as it is, it could start a line of its own, move
the cursor, turn the reading direction, or look like another name.
"""

from __future__ import annotations

import re

# What Unicode calls default ignorable, where Python calls it printable: fillers, joiners and variation selectors.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)

_PASSWORD = re.compile(r"(:/{1,2}[^\s/?#@:'\"]*:)[^\s/]*@|((?:^|[?&\s'\"])(?:ssl)?password=)[^\s&'\"]+")


def without_passwords(text: str) -> str:
    """The text with the password of every address in it replaced: ``postgresql://me:***@host/database``.

    Code that knows an address never repeats its password. This is for what it can't know, such as a word that somebody
    typed in the wrong place.
    """
    if ":/" not in text and "password=" not in text:
        return text
    return _PASSWORD.sub(lambda found: f"{found[1]}***@" if found[1] else f"{found[2]}***", text)


def printable(text: str) -> str:
    r"""The text with control, format, direction and invisible characters spelt out, line breaks too: ``\n``."""
    if text.isprintable() and not _INVISIBLE.search(text):
        return text
    return "".join(
        c if c.isprintable() and not _INVISIBLE.match(c) else c.encode("unicode_escape").decode() for c in text
    )


def shortened(text: str, most: int) -> str:
    """The text, printable, in at most so many characters: a longer one would go on in the next line of a terminal."""
    shown = printable(text)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"
