"""A JSON file is read if it is one, of the shape that is asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gtea.runtime.json_files import read_json

SHAPE = {"lines": [str]}


def test_a_file_of_the_shape_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"lines": ["x"]}')
    assert read_json(tmp_path / "a.json", SHAPE) == {"lines": ["x"]}


@pytest.mark.parametrize(
    "content",
    [b"", b"null", b"[", b"{}", b'{"lines": [1]}', b'{"lines": ["\\ud800"]}', b'{"lines": ["\xff"]}', b"[" * 99_999],
)
def test_another_one_is_a_value_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(ValueError, match=r".+"):
        read_json(tmp_path / "a.json", SHAPE)


def test_nan_is_read_only_where_it_may_be(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[NaN]")
    assert len(read_json(tmp_path / "a.json", list, finite=False)) == 1
    with pytest.raises(ValueError, match="the number NaN"):
        read_json(tmp_path / "a.json", list)


def test_links_pipes_and_large_files_are_errors_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[1, 2, 3]")
    (tmp_path / "link").symlink_to("a.json")
    os.mkfifo(tmp_path / "pipe")
    for name, most in (("link", 100), ("pipe", 100), ("a.json", 5), ("none", 5)):
        with pytest.raises(OSError, match=name):
            read_json(tmp_path / name, list, most=most)
