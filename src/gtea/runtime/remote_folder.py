"""Folders in object stores: ``s3://``, ``gs://``, ``file://`` and ``memory://``. The only module that knows fsspec.

S3 and Google's store are reached by the clients that Arrow has, through fsspec: nothing but fsspec is needed.

Objects are read and written as a whole, never mapped. What a library says when something fails may hold a key or a
signed address: messages have the address that the user gave, our own words, and the name of the error's class. An
address with a user, a password or settings is refused and not repeated; credentials come from where the object store's
own tools look for them.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from gtea.errors import GteaError, StoreError, UsageError
from gtea.runtime.files import atomic_write

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_ADDRESS = re.compile(r"(?P<scheme>s3|gs|file|memory):(?://)?(?P<path>/?[^/].*)", re.DOTALL)
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}")
_STRANGE = re.compile(r"[\x00-\x1f\x7f?#*\[\]\\@]|::")
_CHUNK = 1 << 23
_SECONDS = 30
_ATTEMPTS = 4
_DENIED = re.compile(
    r"ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE|INVALID_TOKEN|EXPIRED_TOKEN|HTTP status 40[13]|PERMISSION_DENIED|"
    r"UNAUTHENTICATED"
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
    if scheme != "memory" and len(parts) < 2:
        raise UsageError(f"{scheme}: the address must name a bucket and a folder in it. Try {scheme}://bucket/folder.")
    if scheme != "memory" and not _BUCKET.fullmatch(parts[0]):
        raise UsageError(
            f"{scheme}: a bucket's name must have 2 to 255 letters, digits, dots, hyphens and underscores, and begin "
            "with a letter or digit (got another one). Check the address."
        )
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
        with self._told(name), self._files.open(self._path(name), "rb") as source:
            content: bytes = source.read(most + 1)
        if len(content) > most:
            raise self._kind(f"{self.where(name)}: has more than {most:,} bytes. Check the address.")
        return content

    def has(self, name: str) -> bool:
        """Whether there is such an object."""
        with self._told(name):
            try:
                self._files.info(self._path(name))
            except FileNotFoundError:
                if not self._has_bucket():
                    raise
                return False
        return True

    def fetch(self, name: str, stream: BinaryIO, most: int) -> str:
        """Copy an object into a stream, some megabytes at a time; returns the sha256 of what came."""
        digest, size = hashlib.sha256(), 0
        with self._told(name), self._files.open(self._path(name), "rb") as source:
            while chunk := source.read(_CHUNK):
                size += len(chunk)
                if size > most:
                    raise self._kind(f"{self.where(name)}: has more than {most:,} bytes. Upload it again.")
                digest.update(chunk)
                _write(stream, chunk)
        return digest.hexdigest()

    def put(self, name: str, source: Path) -> None:
        """Write an object from a file. Nobody sees half of it."""
        target = self._path(name)
        if self.address.scheme == "file":
            with self._told(name), atomic_write(Path(target)) as stream, source.open("rb") as content:
                shutil.copyfileobj(content, stream, _CHUNK)
            return
        with self._told(name), source.open("rb") as content:
            stream = self._files.open(target, "wb")
            try:
                shutil.copyfileobj(content, stream, _CHUNK)
                stream.close()  # only now is the object there
            except BaseException:
                # Closed by its finaliser, it would be there in part. That is told apart from a whole one by no name.
                with contextlib.suppress(Exception):
                    stream.close()
                    self._files.rm_file(target)
                raise

    def _has_bucket(self) -> bool:
        """Whether the bucket is there: of an object in none, S3 says no more than that it isn't there."""
        if self.address.scheme not in ("s3", "gs"):
            return True
        try:
            self._files.info(self.address.path.partition("/")[0])
        except FileNotFoundError:
            return False
        return True

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
        where = self.where(name)
        if isinstance(error, FileNotFoundError) and not self._is_reached(error):
            return (
                f"{where}: there is no bucket {self.address.path.partition('/')[0]}. Check the address, or create it."
            )
        if isinstance(error, FileNotFoundError | IsADirectoryError | NotADirectoryError):
            return f"{where}: is not there. Check the address, or upload it again."
        if isinstance(error, PermissionError) or _DENIED.search(str(error)):
            return f"{where}: access is denied. Check the credentials, and what they allow."
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return f"{where}: there is no space left. Free some, or choose another place."
        return (
            f"{where}: can't be reached ({type(error).__name__}). Check the address, the network and, for S3, "
            "AWS_REGION. What has come is kept: run the same command again."
        )

    def _is_reached(self, error: Exception) -> bool:
        """Whether what is not there is an object, and not its bucket."""
        try:
            return "NO_SUCH_BUCKET" not in str(error) and self._has_bucket()
        except Exception:
            return True


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
    """What reads and writes objects. It makes no bucket, and gives up after some attempts."""
    try:
        import fsspec
        from fsspec.implementations.arrow import ArrowFSWrapper
        from pyarrow import fs

        if scheme == "s3":
            endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
            retries = fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS)
            seconds = {"connect_timeout": _SECONDS, "request_timeout": _SECONDS}
            made = fs.S3FileSystem(endpoint_override=endpoint, retry_strategy=retries, **seconds)
            return ArrowFSWrapper(made, skip_instance_cache=True)
        if scheme == "gs":
            made = fs.GcsFileSystem(retry_time_limit=datetime.timedelta(seconds=_SECONDS))
            return ArrowFSWrapper(made, skip_instance_cache=True)
        return fsspec.filesystem(scheme, skip_instance_cache=True)
    except ImportError:
        raise UsageError(
            f"{scheme}://: needs the package fsspec, and pyarrow with this kind of object store. Run "
            "\"pip install 'gtea[objects]'\"."
        ) from None
