"""The one file that makes a folder a store."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.store.tampering import change_manifest

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
            lambda text: text.replace('"format_version": 2', '"format_version": 7'),
            r"must have format version 1 or 2 \(got 7\)",
        ),
        (lambda text: text.replace('"counts"', '"count"'), "is damaged"),
    ],
)
def test_manifests_that_can_not_be(folder: Path, change: Callable[[str], str], message: str) -> None:
    path = folder / MANIFEST
    path.write_text(change(path.read_text()))
    with pytest.raises(StoreError, match=message):
        read_manifest(folder)


def set_array(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["arrays"]["event_time"].update(fields)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_array(dtype="|O"), r"arrays.event_time.dtype must be '<i8' \(got '|O'\)"),
        (set_array(dtype="<f8"), "arrays.event_time.dtype must be '<i8'"),
        (set_array(file="/etc/passwd"), "arrays.event_time.file must be 'event_time.bin'"),
        (set_array(file="../../secret"), "arrays.event_time.file must be 'event_time.bin'"),
        (set_array(shape=[3]), r"arrays.event_time.shape must be \[2\] \(got \[3\]\)"),
        (set_array(shape=[2, 1]), r"arrays.event_time.shape must be \[2\]"),
        (set_array(shape=[-2]), "shape.*must be a whole number, not negative"),
        (set_array(shape=[2**61]), "arrays.event_time.shape"),
        (set_array(bytes=8), r"arrays.event_time.bytes must be 16 \(got 8\)"),
        (set_array(sha256="x"), "must be a sha256"),
        (lambda content: content.update(folder="../other"), "folder must be the name of a version"),
        (lambda content: content.update(folder="/tmp"), "folder must be the name of a version"),
        (lambda content: content["counts"].update(events=True), "counts.events must be a whole number"),
        (lambda content: content["counts"].update(nodes=2**31), "counts must be possible"),
        (lambda content: content["counts"].update(nodes=4), "arrays.node_.*offset.shape must be"),
        (lambda content: content["counts"].update(edges=9), "counts must be possible"),
        (lambda content: content["time"].update(unit="year"), "time.unit must be one of s, us, ns, step"),
        (lambda content: content["time"].update(last=2**63 - 1), "time must have the first and the last time"),
        (lambda content: content["time"].update(first=None), "time must have the first and the last time"),
        (lambda content: content["schema"].update(directed="no"), "schema.directed must be true or false"),
        (
            lambda content: content["schema"]["columns"].update(features=["x", "y"]),
            "arrays.event_features.shape must be",
        ),
        (lambda content: content["schema"]["columns"].update(categorical=["x"]), "arrays must be .*vocabulary_0"),
        (lambda content: content["arrays"].pop("edge_a"), "arrays must be .*edge_a"),
        (lambda content: content["arrays"].update(extra=content["arrays"]["edge_a"]), "arrays must be"),
        (lambda content: content["arrays"]["slot_edge"].update(shape=[9], bytes=72), "slot"),
        (lambda content: content["data_report"].update(rows_in=99), "as many rows in as rows kept and dropped"),
        (lambda content: content.update(sources="none"), "sources must be a list"),
    ],
)
def test_a_manifest_can_only_say_what_the_format_says(
    folder: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    """Although its digest is right: nothing is mapped, and no path leaves the folder."""
    change_manifest(folder, change)
    with pytest.raises(StoreError, match=f"is damaged .*{message}"):
        read_manifest(folder)


def test_a_changed_manifest_is_noticed(folder: Path) -> None:
    path = folder / MANIFEST
    path.write_text(path.read_text().replace('"directed": false', '"directed": true'))
    with pytest.raises(StoreError, match="it was changed after it was written"):
        read_manifest(folder)


def test_stores_of_gtea_0_1_have_no_digest_of_the_manifest(folder: Path) -> None:
    content = json.loads((folder / MANIFEST).read_text())
    del content["sha256"]
    (folder / MANIFEST).write_text(json.dumps({**content, "format_version": 1}))
    assert Store.open(folder).num_events == 2
    (folder / MANIFEST).write_text(json.dumps(content))
    with pytest.raises(StoreError, match="is damaged"):
        read_manifest(folder)


@pytest.mark.parametrize("kind", ["link", "folder link", "pipe", "folder"])
def test_links_and_devices_are_not_followed(folder: Path, tmp_path: Path, kind: str) -> None:
    version = folder / read_manifest(folder).folder
    path, secret = version / "event_time.bin", tmp_path / "secret"
    secret.write_bytes(path.read_bytes())
    if kind == "folder link":
        version.rename(tmp_path / "elsewhere")
        version.symlink_to(tmp_path / "elsewhere")
    else:
        path.unlink()
        make: dict[str, Callable[[], None]] = {
            "link": lambda: path.symlink_to(secret),
            "pipe": lambda: os.mkfifo(path),
            "folder": lambda: path.mkdir(),
        }
        make[kind]()
    with pytest.raises(StoreError, match="must be a regular file in a folder of the store"):
        Store.open(folder)


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
