"""One file from the web, whole or not at all: taken up again where a connection was cut, checked before it is used.

    FILE             appears once it is whole and has the digest that it should have
    FILE.sha256      its digest, as sha256sum writes and checks it: what later downloads are held against
    FILE.part        what has come so far
    FILE.part.json   of which version of the file, by the server's own mark
    FILE.refused     a whole file with another digest, to look at

A digest that was published beforehand says that the file is the one others have. Where there is none, the first
download is recorded, and that says only that later ones are the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from gtea.errors import DataError, StoreError, UsageError
from gtea.runtime.files import atomic_write, locked, sync_folder, write_json

_TIMEOUT = 60.0
_CHUNK = 1 << 18
_LONGEST_PAUSE = 30.0


@dataclass(frozen=True)
class Wanted:
    """What is to be had, and what is known about it beforehand."""

    url: str
    sha256: str | None = None
    size: int | None = None
    by_hand: str = "where you need it"
    """Where a user who can't download may put the file, for the ends of messages."""


@dataclass(frozen=True)
class Fetched:
    """A file that is there, and by what it was checked."""

    path: Path
    size: int
    sha256: str
    checked_by: Literal["published", "recorded", "first"]
    """A digest known beforehand; that of an earlier download; nothing, this was the first."""
    downloaded: bool
    """False if it was there already."""


def fetch(
    wanted: Wanted,
    target: Path,
    *,
    progress: Callable[[str, float | None], None],
    retries: int = 3,
    pause: float = 1.0,
) -> Fetched:
    """Download a file, or go on with a download that was cut; nothing is done if it is there and right.

    Args:
        retries: After so many attempts in a row that brought nothing, give up. What has come is kept.
        pause: Seconds before the first of them; each further one waits twice as long.
    """
    if not re.match(r"https?://", wanted.url):
        raise UsageError(f"{wanted.url}: must begin with https:// or http://. Check the address.")
    if wanted.sha256 is not None and not re.fullmatch(r"[0-9a-f]{64}", wanted.sha256):
        raise UsageError(f"sha256: must be 64 hexadecimal digits, in lower case (got {wanted.sha256!r}).")
    target.parent.mkdir(parents=True, exist_ok=True)
    busy = StoreError(f"{target}: another gtea process is fetching it. Wait until it has finished.")
    with locked(target.parent, busy):
        recorded = _recorded(target)
        if target.exists():
            return _checked(target, target, wanted, recorded, downloaded=False)
        part = _Part(target)
        _download(wanted, part, progress, retries, pause)
        try:
            done = _checked(part.path, target, wanted, recorded, downloaded=True)
        except DataError:
            part.become(_aside(target))
            raise
        part.become(target)
        return done


class _CutError(Exception):
    """The connection failed in a way that may pass."""


class _Part:
    """What has come of a file so far, and the server's mark of the version that it is of."""

    def __init__(self, target: Path) -> None:
        self.name = target.name
        self.path = target.with_name(f"{target.name}.part")
        self._about = target.with_name(f"{target.name}.part.json")
        self.url, self.mark, self.total = self._read()
        self.ended = False

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def whole(self) -> bool:
        return self.ended or (self.total is not None and self.size == self.total)

    def begin(self, url: str, mark: str | None, total: int | None) -> None:
        """Forget what is there, and expect a version of the file from its first byte."""
        self.path.write_bytes(b"")
        self.url, self.mark, self.total = url, mark, total
        write_json(self._about, {"url": url, "mark": mark, "total": total})

    def become(self, target: Path) -> None:
        self.path.replace(target)
        self._about.unlink(missing_ok=True)
        sync_folder(target.parent)

    def _read(self) -> tuple[str | None, str | None, int | None]:
        try:
            about = json.loads(self._about.read_text(encoding="utf-8"))
            return about["url"], about["mark"], about["total"]
        except (OSError, ValueError, KeyError, TypeError):
            return None, None, None


def _download(
    wanted: Wanted, part: _Part, progress: Callable[[str, float | None], None], retries: int, pause: float
) -> None:
    if part.url != wanted.url:
        part.begin(wanted.url, None, None)
    in_vain = 0
    while not part.whole:
        before = part.size
        try:
            _attempt(wanted, part, progress)
        except _CutError as cut:
            in_vain = 0 if part.size > before else in_vain + 1
            if in_vain > retries:
                kept = f" What has come, {part.size:,} bytes, is kept: the next fetch goes on." if part.size else ""
                raise DataError(
                    f"{wanted.url}: can't be had ({cut}). Check the connection and try again, or get {part.name} "
                    f"elsewhere and put it {wanted.by_hand}.{kept}"
                ) from cut
            time.sleep(min(pause * 2 ** max(in_vain - 1, 0), _LONGEST_PAUSE))


def _attempt(wanted: Wanted, part: _Part, progress: Callable[[str, float | None], None]) -> None:
    """One connection: as much as it brings."""
    with _opened(wanted, part) as response:
        mark, there = _mark(response), part.size
        if response.status == http.client.PARTIAL_CONTENT:
            # A server that knows ranges but not conditions may send the rest of another version.
            if _range(response) != (there, part.total) or mark not in (None, part.mark):
                part.begin(wanted.url, None, None)
                raise _CutError("the file was changed meanwhile")
        else:
            length = response.headers.get("Content-Length", "")
            _refuse_other_things(wanted, response, length)
            part.begin(wanted.url, mark, int(length) if length.isdecimal() else None)
            there = 0
        if wanted.size is not None and part.total not in (None, wanted.size):
            raise DataError(
                f"{wanted.url}: must be {wanted.size:,} bytes (got {part.total:,}). It is not the file that gtea "
                "knows; if it is the one you want, name its digest with --sha256."
            )
        with part.path.open("ab") as stream:
            for chunk in _chunks(response):
                stream.write(chunk)
                there += len(chunk)
                progress(f"fetching {part.name}", there / part.total if part.total else None)
    if part.total is None:
        part.ended = True
    elif not part.whole:
        raise _CutError(f"the connection was cut after {part.size:,} of {part.total:,} bytes")


def _refuse_other_things(wanted: Wanted, response: http.client.HTTPResponse, length: str) -> None:
    """Login pages of networks and empty answers must not become the first download that counts."""
    if length == "0":
        raise _CutError("the server sends nothing")
    if response.headers.get_content_type() == "text/html":
        raise DataError(
            f"{wanted.url}: must be a file of data (got a web page). Check the address, and that the network doesn't "
            f"ask for a login first, or get the file elsewhere and put it {wanted.by_hand}."
        )


@contextlib.contextmanager
def _opened(wanted: Wanted, part: _Part) -> Iterator[http.client.HTTPResponse]:
    request = urllib.request.Request(wanted.url, headers={"User-Agent": "gtea", "Accept-Encoding": "identity"})  # noqa: S310 (only http and https)
    if part.size and part.mark:
        request.add_header("Range", f"bytes={part.size}-")
        request.add_header("If-Range", part.mark)
    try:
        response = _opener().open(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        with error:
            raise _refusal(error, wanted, part) from error
    except (OSError, http.client.HTTPException) as error:
        raise _CutError(str(getattr(error, "reason", None) or error)) from error
    with response:
        yield response


def _refusal(error: urllib.error.HTTPError, wanted: Wanted, part: _Part) -> Exception:
    if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
        part.begin(wanted.url, None, None)
        return _CutError("the file was changed meanwhile")
    if error.code >= 500 or error.code in (http.client.REQUEST_TIMEOUT, http.client.TOO_MANY_REQUESTS):
        return _CutError(f"the server answers {error.code} {error.reason}")
    return DataError(
        f"{wanted.url}: can't be had (the server answers {error.code} {error.reason}). The file may have moved: name "
        f"its new address with --url, or get {part.name} elsewhere and put it {wanted.by_hand}."
    )


class _NoWayDown(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but not from https to http, where anybody on the way may change the file."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        allowed = ("https:",) if req.full_url.startswith("https:") else ("https:", "http:")
        if not newurl.startswith(allowed):
            raise DataError(f"{req.full_url}: leads to {newurl}, which is not safe. Name another address with --url.")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_NoWayDown())


def _chunks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """What a connection brings, as it comes: a failure must not take along what came before it."""
    while True:
        try:
            chunk = response.read1(_CHUNK)
        except (OSError, http.client.HTTPException) as error:
            raise _CutError(str(error) or type(error).__name__) from error
        if not chunk:
            return
        yield chunk


def _mark(response: http.client.HTTPResponse) -> str | None:
    """What tells one version of a file from another: a strong ETag, or the date of its last change."""
    tag = response.headers.get("ETag")
    return tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified")


def _range(response: http.client.HTTPResponse) -> tuple[int, int] | None:
    """With which byte a partial answer begins, and how many the whole file has."""
    match = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", response.headers.get("Content-Range", ""))
    return (int(match[1]), int(match[2])) if match else None


def _checked(path: Path, target: Path, wanted: Wanted, recorded: str | None, *, downloaded: bool) -> Fetched:
    """Hold a whole file against the digest that it should have; record its own where there is none."""
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    known = wanted.sha256 or recorded
    if known is not None and known != digest:
        _refuse(target, digest, known, published=wanted.sha256 is not None, downloaded=downloaded)
    if recorded != digest:
        with atomic_write(_record_of(target)) as out:
            out.write(f"{digest}  {target.name}\n".encode())
    checked_by: Literal["published", "recorded", "first"] = (
        "published" if wanted.sha256 else "recorded" if recorded else "first"
    )
    return Fetched(target, path.stat().st_size, digest, checked_by, downloaded)


def _refuse(target: Path, digest: str, known: str, *, published: bool, downloaded: bool) -> None:
    rule = f"must have the sha256 {known}, as {'published' if published else 'at an earlier fetch'} (got {digest})"
    accept = "name its digest with --sha256" if published else f"delete {_record_of(target).name}"
    if downloaded:
        raise DataError(
            f"{target.name}: {rule}. It is kept aside as {_aside(target)} and not used; if it is the one you want, "
            f"{accept} and fetch again."
        )
    raise DataError(f"{target}: {rule}. Move it away and fetch again, or, if it is the one you want, {accept}.")


def _aside(target: Path) -> Path:
    return target.with_name(f"{target.name}.refused")


def _record_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.sha256")


def _recorded(target: Path) -> str | None:
    record = _record_of(target)
    if not record.exists():
        return None
    digest = record.read_text(encoding="utf-8", errors="replace").split(" ", 1)[0].strip()
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise DataError(f"{record}: must begin with a sha256 (got {digest[:80]!r}). Delete it and fetch again.")
    return digest
