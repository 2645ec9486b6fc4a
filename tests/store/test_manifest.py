"""The one file that makes a folder a store."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gtea.errors import StoreError
from gtea.store.manifest import MANIFEST, map_array, read_manifest
from gtea.store.store import Store


@pytest.fixture
def folder(store_of: Callable[..., Store], tmp_path: Path) -> Path:
    store_of([("a", "b", 1, 2.0), ("b", "c", 2, 3.0)], out=tmp_path / "s")
    return tmp_path / "s"


def test_what_is_written_is_read(folder: Path) -> None:
    manifest = read_manifest(folder)
    assert manifest.to_json() == json.loads((folder / MANIFEST).read_text())
    assert manifest.counts == {"nodes": 3, "edges": 2, "events": 2, "self_loops": 0}
    assert len(manifest.digest) == 64
    assert manifest.digest == Store.open(folder).digest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: "{", "can't be read"),
        (lambda text: "[]", "is not the manifest of a gtea store"),
        (
            lambda text: text.replace('"format_version": 1', '"format_version": 7'),
            r"must have format version 1 \(got 7\)",
        ),
        (lambda text: text.replace('"counts"', '"count"'), "is damaged"),
    ],
)
def test_manifests_that_can_not_be(folder: Path, change: Callable[[str], str], message: str) -> None:
    path = folder / MANIFEST
    path.write_text(change(path.read_text()))
    with pytest.raises(StoreError, match=message):
        read_manifest(folder)


def test_a_folder_without_one_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"is not a store \(it has no manifest\.json\)\. Check the path"):
        read_manifest(tmp_path)
    with pytest.raises(StoreError, match="Make one with gtea ingest"):
        read_manifest(tmp_path / "nowhere")


def test_an_array_that_was_cut_is_refused(folder: Path) -> None:
    manifest = read_manifest(folder)
    described = manifest.arrays["event_time"]
    assert map_array(folder / manifest.folder, described).tolist() == [1, 2]
    path = folder / manifest.folder / described["file"]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StoreError, match=r"must have 16 bytes \(got 15\)"):
        map_array(folder / manifest.folder, described)
