"""Only regular files of a folder are opened, and only up to a size."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gtea.runtime.plain_files import NotPlainError, open_plain, read_plain


def test_a_regular_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert read_plain(tmp_path, "a", 3) == b"abc"
    with open_plain(tmp_path, "a") as file:
        assert file.size == 3


def test_links_folders_and_pipes_are_not_opened(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "link").symlink_to("secret")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "folder", "pipe"):
        with pytest.raises(NotPlainError, match="is not a regular file"):
            read_plain(tmp_path, name, 100)


def test_the_folder_may_be_a_link_if_its_user_named_it(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_bytes(b"abc")
    (tmp_path / "latest").symlink_to("real")
    assert read_plain(tmp_path / "latest", "a", 3, through_link=True) == b"abc"
    with pytest.raises(NotPlainError):
        read_plain(tmp_path / "latest", "a", 3)


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(OSError, match="has more than 1,000 bytes"):
        read_plain(tmp_path, "huge", 1000)


def test_what_is_missing_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_plain(tmp_path, "nothing", 10)
