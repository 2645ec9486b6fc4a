"""The store is put together from whole files, or not at all."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.cluster.ingestion.conftest import StoppedJob

from gtea.cluster.ingestion.publish_store import publish_store
from gtea.cluster.part_files import DamagedFileError
from gtea.store.store import Store

NAMES = {
    "parts": [f"sort.{part}" for part in range(3)], "slots": [f"slots.{part}" for part in range(3)],
    "numbers": [f"number.{part}" for part in range(3)], "words": ["words.0"],
}  # fmt: skip


def test_a_damaged_part_leaves_nothing(stopped: StoppedJob, tmp_path: Path) -> None:
    folder = tmp_path / "job"
    shutil.copytree(stopped.folder, folder)
    path = folder / "sort.2.part"
    content = bytearray(path.read_bytes())
    content[5] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedFileError, match=r"sort\.2\.part: .* has been changed or cut"):
        publish_store(folder, {**NAMES, "out": str(tmp_path / "s")})
    assert list(tmp_path.iterdir()) == [folder]


def test_it_is_the_store(stopped: StoppedJob, tmp_path: Path) -> None:
    _, facts = publish_store(stopped.folder, {**NAMES, "out": str(tmp_path / "s")})
    assert Store.open(tmp_path / "s").digest == facts["digest"] == stopped.at_once.digest
