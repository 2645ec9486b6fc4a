"""Who may ask: the token, the names that the service answers to, and where a browser's request may come from."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gtea.errors import UsageError
from gtea.runtime.plain_files import open_plain

_SHORTEST, _LONGEST = 32, 4_096
_LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")


def read_token(path: Path) -> str:
    """The token in a file that only its owner can read."""
    try:
        with open_plain(path.parent, path.name, through_link=True) as file:
            status = os.fstat(file.number)
            content = os.read(file.number, _LONGEST + 1)
    except OSError as error:
        raise UsageError(f"--token-file {path}: must be a file that can be read (got {error.strerror}).") from error
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        raise UsageError(
            f"--token-file {path}: must be readable by its owner only (got mode {mode:04o}). chmod 600 it."
        )
    if status.st_uid not in (0, os.geteuid()):
        raise UsageError(f"--token-file {path}: must belong to you or to root (got user {status.st_uid}). chown it.")
    token = content.strip()
    if not _SHORTEST <= len(token) <= _LONGEST or not all(33 <= byte < 127 for byte in token):
        raise UsageError(
            f"--token-file {path}: must hold one line of {_SHORTEST} to {_LONGEST:,} letters and digits (got "
            f"{len(token)} bytes). Write one with: openssl rand -hex 32"
        )
    return token.decode()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Access:
    """The rules for all requests."""

    hosts: frozenset[str]
    """Names in the header Host, without a port, in lower case."""
    token: str | None
    """None if who reaches the service may use it."""

    @staticmethod
    def of(host: str, more_hosts: Iterable[str], token: str | None) -> Access:
        """The rules of a service that listens on an address."""
        own = f"[{host}]" if ":" in host and not host.startswith("[") else host
        return Access(frozenset(name.lower() for name in (*_LOCAL_NAMES, own, *more_hosts)), token)

    def knows_host(self, host: str | None) -> bool:
        """Whether a request is for this service: a page of another name, which leads here, is not."""
        return host is not None and _name(host) in self.hosts

    def is_allowed(self, authorization: str | None) -> bool:
        """Whether a request has the token: as ``Bearer``, or as the password of ``Basic``, which browsers ask for."""
        if self.token is None:
            return True
        given = _given_token(authorization or "")
        # Digests of equal length: neither the length of the token nor its first wrong letter can be measured.
        return hmac.compare_digest(hashlib.sha256(given).digest(), hashlib.sha256(self.token.encode()).digest())

    def is_own_page(self, origin: str | None, host: str | None, fetch_site: str | None) -> bool:
        """Whether a request that changes something comes from no page, or from one of ours."""
        if fetch_site not in (None, "same-origin", "none"):
            return False
        if origin is None:
            return True
        scheme, _, place = origin.partition("://")
        return scheme in ("http", "https") and host is not None and place.lower() == host.lower()


def _name(host: str) -> str:
    """A host without its port."""
    end = host.rfind(":")
    has_port = end >= 0 and not host.endswith("]") and host[end + 1 :].isdigit()
    return (host[:end] if has_port else host).lower()


def _given_token(authorization: str) -> bytes:
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip().encode("utf-8", "replace")
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value.strip(), validate=True).partition(b":")[2]
        except (binascii.Error, ValueError):
            return b""
    return b""
