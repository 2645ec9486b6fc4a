"""The file of a task: what was written comes back, and every byte that changes is found."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from gtea.cluster.part_files import Arrays, DamagedFileError, PartFile, Pieces, is_whole, write_part_file
from gtea.runtime.json_shape import Natural

ARRAYS: Arrays = {
    "rows": np.arange(12, dtype=np.float32).reshape(6, 2),
    "pieces": [np.array([1, 2]), np.array([3])],
    "none": np.empty((0, 3), dtype=np.float64),
    "flags": np.array([True, False]),
}


def test_arrays_and_facts_come_back(tmp_path: Path) -> None:
    write_part_file(tmp_path / "a.part", ARRAYS, {"n": 3})
    file = PartFile.open(tmp_path / "a.part")
    assert file.facts == {"n": 3}
    np.testing.assert_array_equal(file.read("rows"), ARRAYS["rows"])
    assert file.read("pieces").tolist() == [1, 2, 3]
    assert file.read("none").shape == (0, 3)
    assert file.read("flags").tolist() == [True, False]
    assert file.read_rows("rows", 2, 3).tolist() == [[4, 5], [6, 7], [8, 9]]
    assert is_whole(tmp_path / "a.part")


def test_every_byte_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.part"
    write_part_file(path, ARRAYS, {"n": 3})
    content = path.read_bytes()
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 4
        path.write_bytes(changed)
        assert not is_whole(path), place
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        assert not is_whole(path), length
    path.write_bytes(content)
    assert is_whole(path)


def test_an_array_is_checked_when_it_is_read_and_the_others_are_not(tmp_path: Path) -> None:
    path = tmp_path / "a.part"
    write_part_file(path, ARRAYS, {})
    content = bytearray(path.read_bytes())
    content[0] ^= 1
    path.write_bytes(content)
    assert PartFile.open(path).read("pieces").tolist() == [1, 2, 3]
    with pytest.raises(DamagedFileError, match=r"a\.part: rows has been changed or cut"):
        PartFile.open(path).read("rows")
    with pytest.raises(DamagedFileError, match=r"none\.part: can't be read"):
        PartFile.open(tmp_path / "none.part")


def test_what_a_header_can_not_say_is_damage(tmp_path: Path) -> None:
    """Whoever can write to the folder can make its digest fit."""
    path = tmp_path / "a.part"
    write_part_file(path, ARRAYS, {"n": 3})
    content = path.read_bytes()
    end = len(content) - 48
    start = end - int.from_bytes(content[end : end + 8], "little")
    for old, new in ((b"<f4", b"|O1"), (b'"n": 3', b'"n": x'), (b'"offset": 0', b'"offset": 9'), (b'"a"', b'"b"')):
        header = content[start:end].replace(old, new)
        digest = hashlib.sha256(header).digest()
        path.write_bytes(content[:start] + header + content[end : end + 8] + digest + content[-8:])
        with pytest.raises(DamagedFileError, match=r"a\.part: (is no file of a task|rows has been)"):
            PartFile.open(path).read("rows")


def test_the_file_of_a_task_can_not_stand_for_that_of_another(tmp_path: Path) -> None:
    write_part_file(tmp_path / "a.part", ARRAYS, {"n": 3})
    (tmp_path / "a.part").rename(tmp_path / "b.part")
    assert not is_whole(tmp_path / "b.part")


def test_names_rows_and_facts_that_are_not_there_are_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.part"
    write_part_file(path, ARRAYS, {"n": 3})
    file = PartFile.open(path)
    assert file.fact("n", Natural) == 3
    asked = (
        lambda: file.read("x"),
        lambda: file.read_list("rows"),
        lambda: file.read_rows("rows", 5, 2),
        lambda: file.fact("n", str),
    )
    for ask in asked:
        with pytest.raises(DamagedFileError, match=r"a\.part: "):
            ask()


def test_an_array_larger_than_memory_goes_in_and_out_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "a.part"
    pieces = (np.full((count, 2), count, np.int32) for count in range(4))
    write_part_file(path, {"rows": Pieces(np.dtype(np.int32), (2,), pieces)}, {})
    file = PartFile.open(path)
    assert file.read("rows")[:, 0].tolist() == [1, 2, 2, 3, 3, 3]
    assert [rows[:, 1].tolist() for rows in file.stream("rows", 4)] == [[1, 2, 2, 3], [3, 3]]
    content = bytearray(path.read_bytes())
    content[4] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedFileError, match=r"a\.part: rows has been changed or cut"):
        list(PartFile.open(path).stream("rows", 4))


def test_links_and_pipes_are_not_opened(tmp_path: Path) -> None:
    write_part_file(tmp_path / "a.part", ARRAYS, {})
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "a.part").symlink_to(tmp_path / "a.part")
    os.mkfifo(tmp_path / "pipe.part")
    for path in (tmp_path / "link" / "a.part", tmp_path / "pipe.part"):
        with pytest.raises(DamagedFileError, match="can't be read"):
            PartFile.open(path)


@pytest.mark.parametrize("count", [0, 5])
def test_an_array_can_stay_in_its_file(tmp_path: Path, count: int) -> None:
    path = tmp_path / "a.part"
    write_part_file(path, {"x": np.arange(3), "y": np.arange(2 * count, dtype=np.float32).reshape(count, 2)}, {})
    mapped = PartFile.open(path).mapped("y")
    assert mapped.tolist() == np.arange(2 * count).reshape(count, 2).tolist()
    if count:
        with pytest.raises(ValueError, match="read-only"):
            mapped[0] = 1
