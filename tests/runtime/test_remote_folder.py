"""Objects as they are read and written, and what is said if they can't be."""

from __future__ import annotations

import hashlib
import io
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.s3_server import KEY, SECRET

from gtea.errors import ModelError, StoreError, UsageError
from gtea.runtime.remote_folder import RemoteFolder, is_address, parse_remote


@pytest.fixture
def folder(place: str) -> RemoteFolder:
    return RemoteFolder(parse_remote(place))


def put(folder: RemoteFolder, name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(content)
    folder.put(name, tmp_path / "source")


def test_what_is_written_is_read(folder: RemoteFolder, tmp_path: Path) -> None:
    content = bytes(range(256)) * 70_000  # more than is read at once
    assert not folder.has("a/b.bin")
    put(folder, "a/b.bin", content, tmp_path)
    assert folder.has("a/b.bin")
    copy = io.BytesIO()
    assert folder.fetch("a/b.bin", copy, len(content)) == hashlib.sha256(content).hexdigest()
    assert copy.getvalue() == content
    put(folder, "a/b.bin", b"small", tmp_path)
    assert folder.read("a/b.bin", 5) == b"small"


def test_what_is_larger_than_it_may_be_is_refused(folder: RemoteFolder, tmp_path: Path) -> None:
    put(folder, "large", b"x" * 100, tmp_path)
    with pytest.raises(StoreError, match=r"large: has more than 99 bytes. Check the address"):
        folder.read("large", 99)
    with pytest.raises(StoreError, match=r"large: has more than 99 bytes. Upload it again"):
        folder.fetch("large", io.BytesIO(), 99)


def test_what_is_missing_is_told_with_its_address(place: str) -> None:
    folder = RemoteFolder(parse_remote(place), ModelError)
    for ask in (lambda: folder.read("none", 9), lambda: folder.fetch("none", io.BytesIO(), 9)):
        with pytest.raises(ModelError) as told:
            ask()
        assert str(told.value) == f"{place}/none: is not there. Check the address, or upload it again."
        assert told.value.__suppress_context__


@pytest.mark.parametrize("place", ["s3"], indirect=True)
def test_a_bucket_that_is_not_there(place: str, tmp_path: Path) -> None:
    folder = RemoteFolder(parse_remote("s3://another-bucket/a"))
    asks: list[Callable[[], Any]] = [lambda: folder.read("x", 9), lambda: folder.has("x")]
    asks.append(lambda: put(folder, "x", b"1", tmp_path))
    for ask in asks:
        with pytest.raises(StoreError, match=r"s3://another-bucket/a/x: there is no bucket another-bucket. Check"):
            ask()


@pytest.mark.parametrize("place", ["s3"], indirect=True)
def test_a_server_that_is_not_there(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{taken.getsockname()[1]}")
        monkeypatch.setattr("gtea.runtime.remote_folder._ATTEMPTS", 1)
        with pytest.raises(StoreError, match=r"x: can't be reached .OSError.. Check the address, the network") as told:
            RemoteFolder(parse_remote(place)).read("x", 9)
    assert told.value.__suppress_context__


class Broken:
    """A library whose words have a secret in them."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def open(self, path: str, mode: str) -> Any:
        raise self._error

    def info(self, path: str) -> Any:
        raise self._error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(f"403 {SECRET}"), "access is denied. Check the credentials, and what they allow."),
        (OSError(f"AWS Error ACCESS_DENIED during HeadObject: {KEY}"), "access is denied."),
        (OSError(f"AWS Error INVALID_ACCESS_KEY_ID: {KEY}"), "access is denied."),
        (OSError(28, f"no space {SECRET}"), "there is no space left. Free some, or choose another place."),
        (RuntimeError(f"https://x/?X-Amz-Signature={SECRET}"), "can't be reached (RuntimeError)."),
    ],
)
def test_what_a_library_says_is_not_repeated(error: Exception, words: str) -> None:
    folder = RemoteFolder(parse_remote("memory://a/b"))
    folder._files = Broken(error)
    for ask in (lambda: folder.read("x", 9), lambda: folder.has("x")):
        with pytest.raises(StoreError) as told:
            ask()
        assert str(told.value).startswith(f"memory://a/b/x: {words}")
        assert SECRET not in str(told.value)
        assert KEY not in str(told.value)
        assert told.value.__cause__ is None
        assert told.value.__suppress_context__


def test_an_upload_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RemoteFolder(parse_remote(f"memory://{tmp_path.name}/b"))
    (tmp_path / "source").write_bytes(b"x" * 100)

    def fails(source: Any, target: Any, size: int) -> None:
        target.write(source.read(10))
        raise OSError(5, "the disk fails")

    monkeypatch.setattr("gtea.runtime.remote_folder.shutil.copyfileobj", fails)
    with pytest.raises(StoreError, match=r"can't be reached .OSError"):
        folder.put("x", tmp_path / "source")
    assert not folder.has("x")


@pytest.mark.parametrize(
    "given",
    [
        "s3://user:geheim@bucket/a", "s3://bucket/a?versionId=geheim", "s3://bucket/../geheim", "s3://bucket//geheim",
        "s3://bucket/a#geheim", "https://bucket/geheim", "simplecache::s3://bucket/geheim", "s3://bucket/a\ngeheim",
        "s3://bucket/*geheim", "file:///a/./geheim", "github://a:geheim@b/c", "s3://", "file://", "reference://geheim",
    ],
)  # fmt: skip
def test_what_is_no_address_of_ours_is_refused_and_not_repeated(given: str) -> None:
    with pytest.raises(UsageError, match=r"address: must be s3://bucket/folder, gs://bucket/folder, file:///f") as told:
        parse_remote(given)
    assert "geheim" not in str(told.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("s3://bucket", "s3: the address must name a bucket and a folder in it. Try s3://bucket/folder."),
        *(
            (
                f"gs://{bucket}/c",
                "gs: a bucket's name must have 2 to 255 letters, digits, dots, hyphens and underscores, and begin with "
                "a letter or digit (got another one). Check the address.",
            )
            for bucket in ("-b", "b")
        ),
        ("file:a/b", "file: the address must have a path from the root. Write file:///folder."),
    ],
)
def test_what_an_address_must_have(given: str, words: str) -> None:
    with pytest.raises(UsageError) as told:
        parse_remote(given)
    assert str(told.value).startswith(words)


def test_addresses_are_told_from_paths() -> None:
    assert [is_address(each) for each in ("s3://a/b", "https://x", "file:/a", "memory:/a")] == [True] * 4
    assert [is_address(each) for each in ("a/b", "/a", "a.store", Path("s3:/a"), None, "a:b")] == [False] * 6
    assert str(parse_remote("s3://bucket/a/b/")) == "s3://bucket/a/b"
    assert str(parse_remote("file:/a/b").folder) == "file:///a"
    assert parse_remote("memory:/a/b").name == "b"


def test_without_fsspec_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(UsageError, match=r"s3://: needs the package fsspec.*Run \"pip install 'gtea.objects.'\""):
        RemoteFolder(parse_remote("s3://bucket/a"))
