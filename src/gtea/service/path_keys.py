"""Account ids as they stand in a path: base64url of their UTF-8, without padding.

An id can be anything: with slashes, dots, percent signs or line breaks in it. Servers and proxies on the way decode,
normalise and log paths, each in its own way; of letters, digits, ``-`` and ``_`` they make nothing else.
"""

from __future__ import annotations

import base64
import binascii
import re

_KEY = re.compile(r"[A-Za-z0-9_-]{1,65536}")


def path_key(account: str) -> str:
    """What stands for an account in a path."""
    return base64.urlsafe_b64encode(account.encode()).decode().rstrip("=")


def account_of(key: str) -> str | None:
    """The account that a part of a path stands for; None if it stands for none."""
    if not _KEY.fullmatch(key):
        return None
    try:
        account = base64.urlsafe_b64decode(key + "=" * (-len(key) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    return account if path_key(account) == key else None
