"""A full disk, a read-only one, a failing one: the store's class of error, whoever noticed."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from safetensors import SafetensorError
from tests.small_files import small_files

from gtea.errors import DataError, StoreError
from gtea.runtime.disk_errors import disk_error, system_error

Run = Callable[..., Any]


def test_an_error_of_the_system_names_the_file_the_disk_and_the_remedy(tmp_path: Path) -> None:
    full = disk_error(OSError(errno.ENOSPC, "No space left on device"), tmp_path / "out" / "scores.csv")
    assert isinstance(full, StoreError)
    text = str(full)
    assert text.startswith(f"{tmp_path}/out/scores.csv: No space left on device (disk /")
    assert text.endswith(" MB free; more is needed). Free some space, or write to another disk.")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.EDQUOT, "Free some space, or write to another disk."),
        (errno.EFBIG, "File too large. Raise the limit on the size of a file (ulimit -f), or write to another disk."),
        (errno.EROFS, "Read-only file system. Write to another disk."),
        (errno.EIO, "Input/output error. The disk may be failing: check it, or write to another disk."),
        (errno.EACCES, "Permission denied. Check its permissions, or write to another place."),
        (errno.EPERM, "Operation not permitted. Check its permissions, or write to another place."),
    ],
)
def test_each_cause_has_its_remedy(code: int, words: str) -> None:
    found = disk_error(OSError(code, os.strerror(code), "/data/x"))
    assert found is not None
    assert str(found).startswith("/data/x: ")
    assert str(found).endswith(words)


@pytest.mark.parametrize(
    "error",
    [
        duckdb.IOException('IO Error: Could not write file "work.duckdb": No space left on device'),
        duckdb.OutOfMemoryException("failed to offload. This limit was set by the 'max_temp_directory_size' setting."),
        SafetensorError("I/O error: No space left on device (os error 28)"),
        OSError("Error writing bytes to file: No space left on device"),
    ],
)
def test_other_libraries_put_it_in_their_own_errors(error: Exception) -> None:
    assert "x.store: No space left on device (disk /" in str(disk_error(error, Path("x.store")))
    later = RuntimeError("the writer is closed")
    later.__context__ = error
    assert "No space left" in str(system_error(later))


def test_what_is_not_about_a_disk_is_left_alone() -> None:
    assert disk_error(FileNotFoundError(errno.ENOENT, "No such file or directory", "x")) is None
    assert disk_error(duckdb.IOException('IO Error: Cannot open file "in.parquet": Permission denied')) is None
    bug = KeyError("x")
    bug.__context__ = PermissionError(errno.EACCES, "Permission denied", "a cache that was tried before")
    assert system_error(bug) is None
    known = DataError("row 3: is bad")
    known.__cause__ = OSError(errno.EIO, "Input/output error")
    assert system_error(known) is None
    other = system_error(NotADirectoryError(errno.ENOTDIR, "Not a directory", "a/b"))
    assert str(other) == "a/b: Not a directory. Check space and permissions."


@pytest.mark.parametrize("size", [100, 20_000, 300_000])
def test_every_command_says_so_and_leaves_nothing(gtea: Run, tmp_path: Path, size: int) -> None:
    data = tmp_path / "data"
    assert gtea("synth", "payments", "--accounts", 300, "--events", 40_000, "--out", data).code == 0
    columns = ("--src", "payer", "--dst", "payee", "--time", "timestamp", "--features", "amount")
    ingest = ("ingest", data / "transactions.parquet", *columns, "--out")
    assert gtea(*ingest, tmp_path / "store").code == 0
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    export = ("export", tmp_path / "store", "--out")
    commands = {
        "new": (*ingest, tmp_path / "new"),
        "store": ("append", tmp_path / "store", data / "transactions.parquet", "--on-duplicate", "keep"),
        "e.csv": (*export, tmp_path / "e.csv", "--format", "csv"),
        "e.parquet": (*export, tmp_path / "e.parquet", "--format", "parquet"),
        "p": ("synth", "payments", "--accounts", 900, "--events", 90_000, "--out", tmp_path / "p"),
    }
    for name, words in commands.items():
        with small_files(size):
            outcome = gtea(*words)
        assert outcome.code == 4, outcome.err
        assert f"{tmp_path / name}" in outcome.err
        assert "File too large. Raise the limit" in outcome.err
    (tmp_path / "p").rmdir()
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before
