"""Lines come whole, numbered, and once, from pipes and from files that grow."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from gtea.errors import DataError
from gtea.live.growing_input import GrowingInput


def never() -> bool:
    return False


def lines_of(source: GrowingInput, most: int = 2) -> list[tuple[int, bytes]]:
    return [line for batch in source.batches(most, never) for line in batch]


def test_a_file_read_once(tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.write_bytes(b"one\ntwo\n\nfour without an end")
    expected = [(1, b"one"), (2, b"two"), (3, b""), (4, b"four without an end")]
    assert lines_of(GrowingInput(path, once=True)) == expected


def test_a_pipe_whose_lines_come_in_pieces() -> None:
    read, write = os.pipe()

    def send() -> None:
        for piece in (b"on", b"e\ntw", b"o\n", b"three"):
            os.write(write, piece)
        os.close(write)

    sender = threading.Thread(target=send)
    sender.start()
    assert lines_of(GrowingInput(read)) == [(1, b"one"), (2, b"two"), (3, b"three")]
    sender.join()


def test_a_file_that_grows_is_followed_until_it_is_told_to_stop(tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.write_bytes(b"one\n")
    source, seen = GrowingInput(path), list[Any]()
    for batch in source.batches(5, lambda: len(seen) == 3):
        seen.extend(batch)
        if len(seen) == 1 and batch:
            with path.open("ab") as stream:
                stream.write(b"two\nthree\nhalf")
    assert seen == [(1, b"one"), (2, b"two"), (3, b"three")]


def test_a_run_goes_on_where_the_last_one_was(tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.write_bytes(b"one\ntwo\nthree\n")
    first = GrowingInput(path, once=True)
    batches = first.batches(2, never)
    assert [next(batches), next(batches)] == [[], [(1, b"one"), (2, b"two")]]
    second = GrowingInput(path, once=True)
    assert second.skip_to(first.position)
    assert lines_of(second) == [(3, b"three")]
    path.write_bytes(b"one\nTWO\nthree\n")
    third = GrowingInput(path, once=True)
    assert not third.skip_to(first.position)
    assert not third.skip_to({})
    assert len(lines_of(third)) == 3


def test_from_now_on_lines_keep_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.write_bytes(b"header\none\n")
    source = GrowingInput(path, once=True)
    assert source.first_line() == b"header"
    source.skip_to_end()
    with path.open("ab") as stream:
        stream.write(b"two\n")
    assert lines_of(source) == [(3, b"two")]


def test_a_line_without_an_end_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.write_bytes(b"x" * 3_000_000 + b"\nnext\n")
    found = lines_of(GrowingInput(path, once=True))
    assert found[-1][1] == b"next"
    assert max(len(line) for _, line in found) < 1_200_000


def test_a_file_must_only_grow(tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.write_bytes(b"one\ntwo\n")
    batches = GrowingInput(path).batches(9, never)
    assert next(batches) == []
    assert len(next(batches)) == 2
    path.write_bytes(b"")
    with pytest.raises(DataError, match="events: must only grow"):
        for _ in batches:
            pass


def test_a_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="can't be read"):
        GrowingInput(tmp_path / "nowhere")
