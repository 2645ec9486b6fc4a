"""Whole files, whoever else writes them; and locks on folders: one process at a time."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gtea.errors import UsageError
from gtea.runtime.files import appended, atomic_write, locked
from gtea.runtime.plain_files import NotPlainError


def test_the_second_waits_and_then_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "here"
    busy = UsageError("somebody else is here")
    with locked(folder, busy), pytest.raises(UsageError, match="somebody else"), locked(folder, busy, timeout=0.15):
        pass
    with locked(folder, busy):
        pass


def test_a_folder_is_the_same_by_the_name_of_a_link(tmp_path: Path) -> None:
    folder, link = tmp_path / "folder", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)
    with locked(link, UsageError("busy")), pytest.raises(UsageError, match="busy"), locked(folder, UsageError("busy")):
        pass


def test_the_second_goes_on_when_the_first_has_ended(tmp_path: Path) -> None:
    first, order = threading.Event(), []

    def work() -> None:
        with locked(tmp_path, UsageError()):
            first.set()
            order.append("first")
            while "waiting" not in order:
                pass
            order.append("ended")

    worker = threading.Thread(target=work)
    worker.start()
    first.wait()
    order.append("waiting")
    with locked(tmp_path, UsageError(), timeout=20):
        order.append("second")
    worker.join()
    assert order == ["first", "waiting", "ended", "second"]


def test_a_folder_that_was_made_for_the_lock_goes_again_if_nothing_was_put_in_it(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    for folder in (tmp_path / "new", own):
        with locked(folder, UsageError()):
            assert folder.is_dir()
    with locked(tmp_path / "used", UsageError()):
        (tmp_path / "used" / "file").touch()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["own", "used"]
    with (
        pytest.raises(UsageError, match=r"file: must be a folder \(got a file\)\. Choose another\."),
        locked(tmp_path / "used" / "file", UsageError()),
    ):
        pass


DRAFT = ".scores.csv.gtea-0123456789abcdef"


def write(path: Path, content: bytes) -> None:
    with atomic_write(path) as stream:
        stream.write(content)


def test_what_a_killed_writer_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    own = [".scores.csv.new", ".scores.csv.gtea-notes", ".scores.csv.gtea-0123456789ABCDEF", ".other.csv" + DRAFT[11:]]
    for name in (*own, DRAFT):
        (tmp_path / name).write_text("mine")
    write(tmp_path / "scores.csv", b"1")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted([*own, "scores.csv"])


def test_the_draft_of_a_living_writer_is_not_swept(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    with atomic_write(path) as first:
        first.write(b"first")
        write(path, b"second")
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_a_draft_that_another_writer_took_for_stale_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one sweeps between the making of the draft and its lock."""
    flock, swept = fcntl.flock, list[Path]()

    def late(handle: int, operation: int) -> None:
        drafts = [entry for entry in tmp_path.iterdir() if entry.name.startswith(DRAFT[:-16])]
        if drafts and not swept:
            swept.append(drafts[0])
            drafts[0].unlink()
        flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    write(tmp_path / "scores.csv", b"1")
    assert len(swept) == 1
    assert (tmp_path / "scores.csv").read_bytes() == b"1"
    assert [entry.name for entry in tmp_path.iterdir()] == ["scores.csv"]


def test_no_link_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one in the place of the draft, nor one in the place of the file."""
    victim, path = tmp_path / "victim", tmp_path / "scores.csv"
    victim.write_text("precious")
    (tmp_path / DRAFT).symlink_to(victim)
    path.symlink_to(victim)
    monkeypatch.setattr("secrets.token_hex", lambda size: DRAFT[-16:])
    with pytest.raises(FileExistsError):
        write(path, b"1")
    (tmp_path / DRAFT).unlink()
    write(path, b"1")
    assert not path.is_symlink()
    assert (path.read_bytes(), victim.read_text()) == (b"1", "precious")


def test_the_permissions_of_what_is_replaced_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    for mode in (0o600, 0o664, 0o640):
        path.touch()
        path.chmod(mode)
        write(path, b"1")
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_only_a_file_is_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(UsageError, match=r"must be a file \(got a folder or a device\)\. Name the file to write\."):
            write(path, b"1")
    assert [entry.name for entry in tmp_path.iterdir()] == ["pipe"]


def test_a_name_of_the_greatest_length_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("ä" * 127)
    write(path, b"1")
    assert path.read_bytes() == b"1"


RACE = """
import sys, time
from pathlib import Path
from gtea.runtime.files import atomic_write
path, letter, until = Path(sys.argv[1]), sys.argv[2].encode(), float(sys.argv[3])
time.sleep(max(0, until - time.time()))
for _ in range(100):
    with atomic_write(path) as stream:
        for _ in range(20):
            stream.write(letter * 5000)
"""


def test_writers_of_one_file_race_and_every_reader_sees_a_whole_one(tmp_path: Path) -> None:
    path, start = tmp_path / "scores.csv", str(time.time() + 0.5)
    writers = [subprocess.Popen([sys.executable, "-c", RACE, str(path), letter, start]) for letter in "abc"]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        if path.exists():
            content = path.read_bytes()
            assert content == content[:1] * 100_000
            seen.add(content[:1])
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert len(seen) > 1
    assert list(tmp_path.iterdir()) == [path]


def test_lines_are_added_to_a_file_and_to_nothing_else(tmp_path: Path) -> None:
    for line in (b"one\n", b"two\n"):
        with appended(tmp_path / "a") as stream:
            stream.write(line)
    assert (tmp_path / "a").read_bytes() == b"one\ntwo\n"
    (tmp_path / "link").symlink_to("a")
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    for name, kind in (("link", OSError), ("pipe", NotPlainError)):
        with pytest.raises(kind), appended(tmp_path / name):
            pass
    os.close(reader)
    assert (tmp_path / "a").read_bytes() == b"one\ntwo\n"
