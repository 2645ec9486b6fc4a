"""Array files: written front to back, hashed on the way, mapped again."""

from __future__ import annotations

import contextlib
import hashlib
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gtea.ingestion.array_writer import ArrayFolder
from gtea.store.strings import table_from


def test_what_is_written_is_described_and_read(tmp_path: Path) -> None:
    with ArrayFolder(tmp_path / "v") as arrays:
        writer = arrays.open("event_time")
        for block in ([1, 2], [], [3]):
            writer.write(np.array(block, dtype=np.int32))
        arrays.write("event_features", np.array([[1.0, 2.0], [3.0, 4.0]]))
        arrays.write_strings("node_id", table_from([pa.array(["b", "a"], pa.large_string())]))
        arrays.finish_open()
        assert [part.tolist() for part in arrays.file("event_time").parts()] == [[1, 2, 3]]
        described = arrays.close()
    assert list(described) == ["event_features", "event_time", "node_id_bytes", "node_id_offset"]
    assert (described["event_time"]["dtype"], described["event_time"]["shape"]) == ("<i8", [3])
    assert (described["event_features"]["dtype"], described["event_features"]["shape"]) == ("<f4", [2, 2])
    for each in described.values():
        content = (tmp_path / "v" / each["file"]).read_bytes()
        assert (each["bytes"], each["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())


@pytest.mark.parametrize("finishing", [False, True])
def test_a_failure_lets_go_of_the_files(tmp_path: Path, finishing: bool) -> None:
    with contextlib.suppress(KeyError), ArrayFolder(tmp_path / "v") as arrays:
        writer = arrays.open("event_time")
        writer.write(np.arange(5))
        if finishing:  # behind something that takes long, so that it has not begun when it is cancelled
            arrays._worker.do(time.sleep, 0.2)
            arrays.finish_open()
        raise KeyError
    assert writer._stream.closed
    with pytest.raises(FileExistsError):
        ArrayFolder(tmp_path / "v")
