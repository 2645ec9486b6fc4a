"""Account ids as people may see them: hostile ones stay inert, endless ones are cut, all can be told apart."""

from __future__ import annotations

import re

from gtea.runtime.printable import printable

_LONGEST = 512
_SHORT = 15
_FORBIDDEN_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def shown(text: str, longest: int = _LONGEST) -> str:
    """Text with characters that have no shape spelt out, cut where nobody reads on."""
    spelt = printable(text[: longest + 1])
    return spelt if len(spelt) <= longest else f"{spelt[:longest]}… ({len(text):,} characters)"


def short_id(account: str, head: int = 8) -> str:
    """The beginning and the end of an id: what people compare."""
    if len(account) > 2 * _LONGEST:
        account = account[:_LONGEST] + account[-_LONGEST:]
    spelt = printable(account)
    return spelt if len(spelt) <= _SHORT else f"{spelt[:head]}…{spelt[-4:]}"


def xml_text(text: str) -> str:
    """Text without the characters that XML can't hold, not even escaped: each becomes U+FFFD."""
    return _FORBIDDEN_IN_XML.sub("\ufffd", text)
