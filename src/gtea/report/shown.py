"""Account ids as people may see them: hostile ones stay inert, endless ones are cut, all can be told apart."""

from __future__ import annotations

import re

_LONGEST = 512
_SHORT = 15
_FORBIDDEN_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def shown(text: str, longest: int = _LONGEST) -> str:
    """Text with characters that have no shape spelt out, cut where nobody reads on.

    A mark that turns the direction of reading, a NUL or an escape sequence would otherwise make two ids look alike.
    """
    spelt = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:longest])
    if len(text) <= longest and len(spelt) <= longest:
        return spelt
    return f"{spelt[:longest]}… ({len(text):,} characters)"


def shortened(text: str, head: int = 8) -> str:
    """The beginning and the end of an id: what people compare."""
    spelt = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:_LONGEST])
    if len(text) > _LONGEST:
        spelt += text[-4:] if text[-4:].isprintable() else ""
    return spelt if len(spelt) <= _SHORT else f"{spelt[:head]}…{spelt[-4:]}"


def xml_text(text: str) -> str:
    """Text without the characters that XML can't hold, not even escaped: each becomes U+FFFD."""
    return _FORBIDDEN_IN_XML.sub("\ufffd", text)
