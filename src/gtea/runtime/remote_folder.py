"""Folders in object stores: ``s3://``, ``gs://``, ``file://`` and ``memory://``. The only module that knows fsspec.

Objects are read and written as a whole, never mapped. What a library says when something fails may hold a key or a
signed address: messages have the address that the user gave, our own words, and the name of the error's class. An
address with a user, a password or settings is refused and not repeated; credentials come from where the object store's
own tools look for them.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from gtea.errors import GteaError, StoreError, UsageError
from gtea.runtime.disk_errors import DRAFT

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_ADDRESS = re.compile(r"(?P<scheme>s3|gs|file|memory):(?://)?(?P<path>/?[^/].*)", re.DOTALL)
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}")
_STRANGE = re.compile(r"[\x00-\x1f\x7f?#*\[\]\\@]|::")
_MODULES = {"s3": ("s3fs", "objects"), "gs": ("gcsfs", "gcs")}
_CHUNK = 1 << 23
_SECONDS = 30
_NO_CREDENTIALS = frozenset(
    {"NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "DefaultCredentialsError"}
)
_FORM = "s3://bucket/folder, gs://bucket/folder, file:///folder or memory://folder"


@dataclass(frozen=True)
class RemoteAddress:
    """Where a folder or an object is."""

    scheme: str
    path: str
    """Without the scheme: for objects, bucket and key."""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.path}"

    @property
    def folder(self) -> RemoteAddress:
        """The folder that it is in."""
        return RemoteAddress(self.scheme, self.path.rpartition("/")[0])

    @property
    def name(self) -> str:
        """The last part of it."""
        return self.path.rpartition("/")[2]


def is_address(given: object) -> bool:
    """Whether something that a user gave is an address, well formed or not."""
    return isinstance(given, str) and _SCHEME.match(given) is not None


def parse_remote(given: str) -> RemoteAddress:
    """Take an address apart. One that is not well formed is refused, and not repeated: it may hold a password."""
    found = _ADDRESS.fullmatch(given)
    parts = found["path"].rstrip("/").removeprefix("/").split("/") if found else []
    fault = not parts or any(part in ("", ".", "..") for part in parts) or _STRANGE.search(given)
    if fault or found is None:
        raise UsageError(
            f"address: must be {_FORM}, without a user, settings or characters such as ?, # and * (it is not repeated "
            "here: it may hold a password). Leave credentials to the environment of the object store's tools."
        )
    scheme, path = found["scheme"], "/".join(parts)
    if scheme == "file":
        if not found["path"].startswith("/"):
            raise UsageError("file: the address must have a path from the root. Write file:///folder.")
        return RemoteAddress(scheme, f"/{path}")
    if scheme != "memory" and (len(parts) < 2 or not _BUCKET.fullmatch(parts[0])):
        raise UsageError(f"{scheme}: the address must name a bucket and a folder in it. Try {scheme}://bucket/folder.")
    return RemoteAddress(scheme, path)


class RemoteFolder:
    """A folder of objects."""

    def __init__(self, address: RemoteAddress, kind: type[GteaError] = StoreError) -> None:
        """Name a folder. Nothing is asked of it yet.

        Args:
            kind: What to raise if something is wrong with what is there.
        """
        self.address = address
        self._kind = kind
        self._files = _file_system(address.scheme)

    def where(self, name: str) -> str:
        """One of its objects, for messages."""
        return f"{self.address}/{name}"

    def read(self, name: str, most: int) -> bytes:
        """A small object as a whole."""
        with self._told(name):
            content: bytes = self._files.cat_file(self._path(name), start=0, end=most + 1)
        if len(content) > most:
            raise self._kind(f"{self.where(name)}: has more than {most:,} bytes. Check the address.")
        return content

    def has(self, name: str) -> bool:
        """Whether there is such an object."""
        with self._told(name):
            try:
                self._files.info(self._path(name), refresh=True)
            except FileNotFoundError as error:
                if _code(error) == "NoSuchBucket":
                    raise
                return False
        return True

    def fetch(self, name: str, stream: BinaryIO, most: int) -> str:
        """Copy an object into a stream, some megabytes at a time; returns the sha256 of what came."""
        digest, size = hashlib.sha256(), 0
        with self._told(name), self._files.open(self._path(name), "rb", block_size=_CHUNK, cache_type="none") as source:
            while chunk := source.read(_CHUNK):
                size += len(chunk)
                if size > most:
                    raise self._kind(
                        f"{self.where(name)}: has more than {most:,} bytes. Restore it, or upload it again."
                    )
                digest.update(chunk)
                _write(stream, chunk)
        return digest.hexdigest()

    def put(self, name: str, source: Path) -> None:
        """Write an object from a file. Nobody sees half of it."""
        target = self._path(name)
        with self._told(name):
            if self.address.scheme != "file":
                self._files.put_file(str(source), target)
                return
            draft = f"{target}{DRAFT}{secrets.token_hex(8)}"
            try:
                self._files.put_file(str(source), draft)
                Path(draft).replace(target)
            finally:
                Path(draft).unlink(missing_ok=True)

    def _path(self, name: str) -> str:
        return f"{self.address.path}/{name}"

    @contextlib.contextmanager
    def _told(self, name: str) -> Iterator[None]:
        """Turn what goes wrong into our own words. Others' may hold a credential: not even --debug has them."""
        try:
            yield
        except GteaError:
            raise
        except _DiskError as error:
            raise error.cause from None
        except Exception as error:
            raise self._kind(self._words(name, error)) from None

    def _words(self, name: str, error: Exception) -> str:
        if _code(error) == "NoSuchBucket":
            bucket = self.address.path.partition("/")[0]
            return f"{self.where(name)}: there is no bucket {bucket}. Check the address, or create the bucket."
        if isinstance(error, FileNotFoundError | IsADirectoryError | NotADirectoryError):
            return f"{self.where(name)}: is not there. Check the address, or upload it again."
        if isinstance(error, PermissionError):
            return f"{self.where(name)}: access is denied. Check the credentials, and what they allow."
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return f"{self.where(name)}: there is no space left. Free some, or choose another place."
        kinds = {type(each).__name__ for each in _chain(error)}
        if kinds & _NO_CREDENTIALS:
            return f"{self.where(name)}: needs credentials, and none were found. Set them as for the store's own tools."
        return (
            f"{self.where(name)}: can't be reached ({type(error).__name__}). Check the address and the network, and "
            "run the same command again: what has come is kept."
        )


class _DiskError(Exception):
    """What went wrong with a file here, while something was read from elsewhere."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _write(stream: BinaryIO, chunk: bytes) -> None:
    try:
        stream.write(chunk)
    except OSError as error:
        raise _DiskError(error) from error


def _file_system(scheme: str) -> Any:
    """What reads and writes objects. Nothing of it is kept for others, and no listing is remembered."""
    module, extra = _MODULES.get(scheme, ("fsspec", "objects"))
    try:
        import fsspec

        options: dict[str, Any] = {"skip_instance_cache": True, "use_listings_cache": False}
        if scheme == "s3":
            retries = {"max_attempts": 4, "mode": "standard"}
            options["config_kwargs"] = {"connect_timeout": _SECONDS, "read_timeout": _SECONDS, "retries": retries}
        if scheme == "file":
            options["auto_mkdir"] = True
        return fsspec.filesystem(scheme, **options)
    except ImportError:
        raise UsageError(f"{scheme}://: needs the package {module}. Run \"pip install 'gtea[{extra}]'\".") from None


def _code(error: BaseException) -> str:
    """What S3 calls an error."""
    for each in _chain(error):
        response = getattr(each, "response", None)
        if isinstance(response, dict):
            return str(response.get("Error", {}).get("Code", ""))
    return ""


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and what it was raised from."""
    each: BaseException | None = error
    while each is not None:
        yield each
        each = each.__cause__ or each.__context__
