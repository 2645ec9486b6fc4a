"""Download a file atomically: resume after a lost connection, and verify the digest before the file is used.

    FILE             appears when the download is complete and the digest is right
    FILE.sha256      its digest in the format of sha256sum; later downloads are compared with it
    FILE.part        the part downloaded so far
    FILE.part.json   the version of the file that the part belongs to (ETag or Last-Modified)
    FILE.refused     a complete download with a wrong digest, kept for inspection

A published digest proves that the file is the one that others use. Without one, the digest of the first download is
recorded, which proves only that later downloads are the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
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
from gtea.runtime.files import appended, atomic_write, locked, sync_folder, write_json
from gtea.runtime.json_files import read_json
from gtea.runtime.json_shape import Either, Natural
from gtea.runtime.plain_files import read_plain

_TIMEOUT = 60.0
_CHUNK = 1 << 18
_LONGEST_PAUSE = 30.0
_MOST_RECORD = 1 << 20


@dataclass(frozen=True)
class Wanted:
    """The file to download, and what is known about it in advance."""

    url: str
    sha256: str | None = None
    size: int | None = None
    by_hand: str = "where you need it"
    """Where a user who can't download the file can put it, as the end of an error message."""


@dataclass(frozen=True)
class Fetched:
    """A downloaded file, and how it was verified."""

    path: Path
    size: int
    sha256: str
    checked_by: Literal["published", "recorded", "first"]
    """By a published digest; by the digest of an earlier download; not at all, because this is the first download."""
    downloaded: bool
    """False if the file already existed."""


def fetch(
    wanted: Wanted,
    target: Path,
    *,
    progress: Callable[[str, float | None], None],
    retries: int = 3,
    pause: float = 1.0,
) -> Fetched:
    """Download a file, or resume an interrupted download. An existing file is only verified.

    Args:
        retries: How many retries in a row may fail without new data. After that, an error is raised and the partial
            download is kept.
        pause: Seconds before the first retry. The pause doubles with each further retry.
    """
    if not re.match(r"https?://", wanted.url):
        raise UsageError(f"{wanted.url}: must start with https:// or http://. Check the URL.")
    if wanted.sha256 is not None and not re.fullmatch(r"[0-9a-f]{64}", wanted.sha256):
        raise UsageError(
            f"sha256: must be 64 hexadecimal digits, in lower case (got {wanted.sha256!r}). Check the digest."
        )
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
            part.move_to(_refused_path(target))
            raise
        part.move_to(target)
        return done


class _TransientError(Exception):
    """The connection failed, but a retry may succeed."""


class _Part:
    """A partial download, and the version of the file that it belongs to (``mark``: an ETag or a date)."""

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
    def complete(self) -> bool:
        return self.ended or (self.total is not None and self.size == self.total)

    def begin(self, url: str, mark: str | None, total: int | None) -> None:
        """Discard the partial download, and start one version of the file from the first byte."""
        self.path.unlink(missing_ok=True)
        self.path.touch(exist_ok=False)
        self.url, self.mark, self.total = url, mark, total
        write_json(self._about, {"url": url, "mark": mark, "total": total})

    def move_to(self, target: Path) -> None:
        self.path.replace(target)
        self._about.unlink(missing_ok=True)
        sync_folder(target.parent)

    def _read(self) -> tuple[str | None, str | None, int | None]:
        try:
            about = read_json(self._about, {"url": str, "mark": Either(str, None), "total": Either(Natural, None)})
            return about["url"], about["mark"], about["total"]
        except (OSError, ValueError):
            return None, None, None


def _download(
    wanted: Wanted, part: _Part, progress: Callable[[str, float | None], None], retries: int, pause: float
) -> None:
    if part.url != wanted.url:
        part.begin(wanted.url, None, None)
    failures = 0
    while not part.complete:
        before = part.size
        try:
            _attempt(wanted, part, progress)
        except _TransientError as error:
            failures = 0 if part.size > before else failures + 1
            if failures > retries:
                kept = f" The first {part.size:,} bytes are kept; the next fetch resumes." if part.size else ""
                raise DataError(
                    f"{wanted.url}: download failed ({error}). Check the connection and try again, or get {part.name} "
                    f"elsewhere and put it {wanted.by_hand}.{kept}"
                ) from error
            time.sleep(min(pause * 2 ** max(failures - 1, 0), _LONGEST_PAUSE))


def _attempt(wanted: Wanted, part: _Part, progress: Callable[[str, float | None], None]) -> None:
    """Download as much as one connection delivers."""
    with _opened(wanted, part) as response:
        mark, received = _mark(response), part.size
        if response.status == http.client.PARTIAL_CONTENT:
            # A server that supports Range but not If-Range may send the rest of another version.
            if _range(response) != (received, part.total) or mark not in (None, part.mark):
                part.begin(wanted.url, None, None)
                raise _TransientError("the file changed on the server")
        else:
            length = response.headers.get("Content-Length", "")
            _check_response(wanted, response, length)
            part.begin(wanted.url, mark, int(length) if length.isdecimal() else None)
            received = 0
        if wanted.size is not None and part.total not in (None, wanted.size):
            raise DataError(
                f"{wanted.url}: must be {wanted.size:,} bytes (got {part.total:,}). The file has changed; if it is "
                "the one you want, pass its digest with --sha256."
            )
        with appended(part.path) as stream:
            for chunk in _chunks(response):
                stream.write(chunk)
                received += len(chunk)
                progress(f"fetching {part.name}", received / part.total if part.total else None)
    if part.total is None:
        part.ended = True
    elif not part.complete:
        raise _TransientError(f"the connection was lost after {part.size:,} of {part.total:,} bytes")


def _check_response(wanted: Wanted, response: http.client.HTTPResponse, length: str) -> None:
    """Refuse empty responses and login pages, so that they are not recorded as the first download."""
    if length == "0":
        raise _TransientError("the server sent an empty response")
    if response.headers.get_content_type() == "text/html":
        raise DataError(
            f"{wanted.url}: must be a data file (got a web page). Check the URL, and that the network doesn't "
            f"require a login, or get the file elsewhere and put it {wanted.by_hand}."
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
        raise _TransientError(str(getattr(error, "reason", None) or error)) from error
    with response:
        yield response


def _refusal(error: urllib.error.HTTPError, wanted: Wanted, part: _Part) -> Exception:
    if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
        part.begin(wanted.url, None, None)
        return _TransientError("the file changed on the server")
    if error.code >= 500 or error.code in (http.client.REQUEST_TIMEOUT, http.client.TOO_MANY_REQUESTS):
        return _TransientError(f"the server returned {error.code} {error.reason}")
    return DataError(
        f"{wanted.url}: download failed (the server returned {error.code} {error.reason}). The file may have moved: "
        f"pass its new URL with --url, or get {part.name} elsewhere and put it {wanted.by_hand}."
    )


class _NoDowngradeHandler(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but not from https to http, where the file could be tampered with in transit."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        allowed = ("https:",) if req.full_url.startswith("https:") else ("https:", "http:")
        if not newurl.startswith(allowed):
            raise DataError(f"{req.full_url}: redirects to {newurl}, which is not safe. Pass another URL with --url.")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_NoDowngradeHandler())


def _chunks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Yield data as it arrives, so that a failure doesn't lose what was received before it."""
    while True:
        try:
            chunk = response.read1(_CHUNK)
        except (OSError, http.client.HTTPException) as error:
            raise _TransientError(str(error) or type(error).__name__) from error
        if not chunk:
            return
        yield chunk


def _mark(response: http.client.HTTPResponse) -> str | None:
    """The version of the file on the server: a strong ETag, or else the Last-Modified date."""
    tag = response.headers.get("ETag")
    return tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified")


def _range(response: http.client.HTTPResponse) -> tuple[int, int] | None:
    """The first byte of a partial response, and the size of the complete file."""
    match = re.fullmatch(r"bytes (\d+)-\d+/(\d+)", response.headers.get("Content-Range", ""))
    return (int(match[1]), int(match[2])) if match else None


def _checked(path: Path, target: Path, wanted: Wanted, recorded: str | None, *, downloaded: bool) -> Fetched:
    """Compare the digest of a complete file with the expected one. If there is none, record it."""
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    expected = wanted.sha256 or recorded
    if expected is not None and expected != digest:
        _refuse(target, digest, expected, published=wanted.sha256 is not None, downloaded=downloaded)
    if recorded != digest:
        with atomic_write(_record_of(target)) as out:
            out.write(f"{digest}  {target.name}\n".encode())
    checked_by: Literal["published", "recorded", "first"] = (
        "published" if wanted.sha256 else "recorded" if recorded else "first"
    )
    return Fetched(target, path.stat().st_size, digest, checked_by, downloaded)


def _refuse(target: Path, digest: str, expected: str, *, published: bool, downloaded: bool) -> None:
    rule = f"must have the sha256 {expected}, as {'published' if published else 'at an earlier fetch'} (got {digest})"
    accept = "pass its digest with --sha256" if published else f"delete {_record_of(target).name}"
    if downloaded:
        raise DataError(
            f"{target.name}: {rule}. It was saved as {_refused_path(target)} and is not used; if it is the one you "
            f"want, {accept} and fetch again."
        )
    raise DataError(f"{target}: {rule}. Move it away and fetch again, or, if it is the one you want, {accept}.")


def _refused_path(target: Path) -> Path:
    return target.with_name(f"{target.name}.refused")


def _record_of(target: Path) -> Path:
    return target.with_name(f"{target.name}.sha256")


def _recorded(target: Path) -> str | None:
    record = _record_of(target)
    if not record.exists():
        return None
    content = read_plain(record.parent, record.name, _MOST_RECORD, through_link=True)
    digest = content.decode(errors="replace").split(" ", 1)[0].strip()
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise DataError(f"{record}: must start with a sha256 (got {digest[:80]!r}). Delete it and fetch again.")
    return digest
