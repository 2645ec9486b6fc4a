"""The cache: what is there is not brought again, and what is not what it should be is never there."""

from __future__ import annotations

import hashlib
import stat
import threading
from pathlib import Path

import pytest

from gtea.errors import ModelError, StoreError
from gtea.runtime.object_cache import RemoteFile, bring_folder, object_cache
from gtea.runtime.remote_folder import RemoteFolder, parse_remote


class Counting(RemoteFolder):
    """Notes what is fetched."""

    def __init__(self, place: str) -> None:
        super().__init__(parse_remote(place))
        self.fetched: list[str] = []

    def fetch(self, name, stream, most):  # type: ignore[no-untyped-def]
        self.fetched.append(name)
        return super().fetch(name, stream, most)


def uploaded(remote: RemoteFolder, contents: dict[str, bytes], tmp_path: Path) -> dict[str, RemoteFile]:
    for name, content in contents.items():
        (tmp_path / "source").write_bytes(content)
        remote.put(name, tmp_path / "source")
    return {name: RemoteFile(hashlib.sha256(each).hexdigest(), len(each)) for name, each in contents.items()}


CONTENTS = {"v1/a.bin": b"a" * 1000, "v1/b.bin": b"", "v1/c.bin": b"a" * 1000, "d.json": b"{}"}


def test_a_folder_is_brought_once_and_each_content_once(place: str, tmp_path: Path) -> None:
    remote = Counting(place)
    files = uploaded(remote, CONTENTS, tmp_path)
    made = bring_folder(remote, "1" * 64, files, {"manifest.json": b"m"}, StoreError)
    assert {str(path.relative_to(made)): path.read_bytes() for path in made.rglob("*") if path.is_file()} == {
        **CONTENTS, "manifest.json": b"m",
    }  # fmt: skip
    remote.fetched.clear()
    assert bring_folder(remote, "1" * 64, files, {}, StoreError) == made
    more = {**files, **uploaded(remote, {"v2/new.bin": b"new"}, tmp_path)}
    bring_folder(remote, "2" * 64, more, {}, StoreError)
    assert remote.fetched == ["v2/new.bin"]


def test_only_this_user_can_read_it(place: str, tmp_path: Path) -> None:
    folder = object_cache()
    assert folder == tmp_path / "cache" / "objects"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_it_is_in_the_users_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GTEA_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert object_cache() == tmp_path / "xdg" / "gtea" / "objects"


def test_a_folder_that_others_can_replace_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("GTEA_CACHE", str(shared))
    with pytest.raises(StoreError, match=r"must be a folder that nobody else can write to. Name another with GTEA_C"):
        object_cache()


def test_a_content_with_another_digest_is_refused_and_not_kept(place: str, tmp_path: Path) -> None:
    remote = Counting(place)
    files = uploaded(remote, CONTENTS, tmp_path)
    uploaded(remote, {"v1/a.bin": b"b" * 1000, "v1/c.bin": b"b" * 1000}, tmp_path)
    with pytest.raises(ModelError, match=r"v1/[ac].bin: its content is not what the manifest says .sha256 [0-9a-f]"):
        bring_folder(remote, "1" * 64, files, {}, ModelError)
    kept = object_cache() / "files"
    assert all(hashlib.sha256(path.read_bytes()).hexdigest() == path.name for path in kept.iterdir())
    assert not (object_cache() / "folders" / ("1" * 64)).exists()
    uploaded(remote, CONTENTS, tmp_path)
    assert bring_folder(remote, "1" * 64, files, {}, ModelError).is_dir()


def test_what_was_finished_before_a_failure_is_not_brought_again(place: str, tmp_path: Path) -> None:
    remote = Counting(place)
    contents = {f"{number}.bin": bytes([number]) * 100 for number in range(12)}
    files = uploaded(remote, contents, tmp_path)
    missing = {**files, "none.bin": RemoteFile("0" * 64, 5)}
    with pytest.raises(StoreError, match=r"none.bin: is not there"):
        bring_folder(remote, "1" * 64, missing, {}, StoreError)
    finished = {path.name for path in (object_cache() / "files").iterdir()}
    remote.fetched.clear()
    bring_folder(remote, "2" * 64, files, {}, StoreError)
    assert {files[name].sha256 for name in remote.fetched} == {each.sha256 for each in files.values()} - finished


@pytest.mark.parametrize("place", ["memory"], indirect=True)
def test_processes_that_bring_the_same_at_once_do_not_mix(place: str, tmp_path: Path) -> None:
    remote = Counting(place)
    files = uploaded(remote, CONTENTS, tmp_path)
    made = list[Path]()
    threads = [
        threading.Thread(target=lambda: made.append(bring_folder(remote, "1" * 64, files, {}, StoreError)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(made) == 4
    assert len(set(made)) == 1
    assert (made[0] / "v1/a.bin").read_bytes() == CONTENTS["v1/a.bin"]
