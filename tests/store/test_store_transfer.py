"""Stores that go to an object store and come back: to the byte, all of one or nothing of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gtea.errors import StoreError
from gtea.ingestion.append import append
from gtea.ingestion.ingest import ingest
from gtea.runtime.progress import no_progress
from gtea.runtime.remote_folder import RemoteFolder, parse_remote
from gtea.store.manifest import MANIFEST
from gtea.store.store import Store
from gtea.store.store_transfer import bring_store, send_store
from gtea.store.verify import verify


def made_store(out: Path, rows: int = 200) -> Path:
    rng = np.random.default_rng(rows)
    lines = [f"a{rng.integers(0, 30)},b{rng.integers(0, 30)},{time},{rng.random():.3f}" for time in range(rows)]
    source = out.with_suffix(".csv")
    source.write_text("src,dst,time,amount\n" + "\n".join(lines) + "\n")
    ingest(source, src="src", dst="dst", time="time", features=["amount"], time_unit="step", out=out)
    return out


def content_of(store: Path) -> dict[str, bytes]:
    return {str(path.relative_to(store)): path.read_bytes() for path in store.rglob("*") if path.is_file()}


class Stop(Exception):  # noqa: N818
    """What stands for a kill."""


def test_a_store_comes_back_to_the_byte(place: str, tmp_path: Path) -> None:
    store, address = made_store(tmp_path / "s"), parse_remote(place)
    send_store(store, address)
    copy = bring_store(address)
    assert content_of(copy) == content_of(store)
    assert verify(copy, no_progress) == []
    send_store(store, address)  # the same once more: nothing to do
    assert bring_store(address) == copy


def test_nobody_sees_a_store_before_all_of_it_is_there(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, address = made_store(tmp_path / "s"), parse_remote(place)
    real, names = RemoteFolder.put, list[str]()

    def put(self: RemoteFolder, name: str, source: Path) -> None:
        if len(names) == 5:
            raise Stop
        names.append(name)
        real(self, name, source)

    with monkeypatch.context() as patch:
        patch.setattr(RemoteFolder, "put", put)
        with pytest.raises(Stop):
            send_store(store, address)
    with pytest.raises(StoreError, match=rf"{place}/manifest.json: is not there"):
        bring_store(address)
    send_store(store, address)
    assert content_of(bring_store(address)) == content_of(store)
    assert MANIFEST not in names


def test_a_later_version_takes_the_place_and_an_opened_one_stays(place: str, tmp_path: Path) -> None:
    store, address = made_store(tmp_path / "s"), parse_remote(place)
    send_store(store, address)
    first = Store.open(bring_store(address))
    events = tmp_path / "more.csv"
    events.write_text("src,dst,time,amount\na1,b1,900,1\n")
    append(store, events)
    send_store(store, address)
    second = Store.open(bring_store(address))
    assert (first.num_events, second.num_events) == (200, 201)
    assert second.path != first.path
    assert verify(first.path, no_progress) == []


def test_another_store_is_not_replaced(place: str, tmp_path: Path) -> None:
    address = parse_remote(place)
    send_store(made_store(tmp_path / "s"), address)
    with pytest.raises(StoreError, match=r"has another store, whose readers must not see it change .its version is v0"):
        send_store(made_store(tmp_path / "t", 300), address)
    assert Store.open(bring_store(address)).num_events == 200


def test_a_damaged_store_is_not_sent(place: str, tmp_path: Path) -> None:
    store = made_store(tmp_path / "s")
    array = store / "v000001" / "event_time.bin"
    array.write_bytes(array.read_bytes()[::-1])
    with pytest.raises(StoreError, match="is damaged: event_time"):
        send_store(store, parse_remote(place))
    assert not RemoteFolder(parse_remote(place)).has(MANIFEST)


def harmed(place: str, tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Put a store there of which the manifest was changed by somebody who can compute digests."""
    import hashlib

    store = made_store(tmp_path / "s")
    send_store(store, parse_remote(place))
    content = json.loads((store / MANIFEST).read_text())
    content.pop("sha256")
    change(content)
    content["sha256"] = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    (tmp_path / "m").write_text(json.dumps(content))
    RemoteFolder(parse_remote(place)).put(MANIFEST, tmp_path / "m")


@pytest.mark.parametrize("place", ["memory", "s3"], indirect=True)
@pytest.mark.parametrize("name", ["../../../outside", "/etc/passwd", "a\nb", "..", "", "x" * 300])
def test_names_that_lead_elsewhere_are_refused(place: str, tmp_path: Path, name: str) -> None:
    def in_array(content: dict[str, Any]) -> None:
        content["arrays"]["event_time"]["file"] = name

    harmed(place, tmp_path, in_array)
    before = sorted(path for path in tmp_path.rglob("*") if "cache" not in path.parts)
    with pytest.raises(StoreError, match=rf"{place}/manifest.json: is damaged .arrays.event_time.file must be 'event"):
        bring_store(parse_remote(place))
    assert sorted(path for path in tmp_path.rglob("*") if "cache" not in path.parts) == before

    def in_folder(content: dict[str, Any]) -> None:
        content["folder"] = name

    shutil.rmtree(tmp_path / "s")
    RemoteFolder(parse_remote(place))._files.rm_file(f"{parse_remote(place).path}/{MANIFEST}")
    harmed(place, tmp_path, in_folder)
    with pytest.raises(StoreError, match=r"manifest.json: is damaged .*folder"):
        bring_store(parse_remote(place))


@pytest.mark.parametrize("place", ["memory"], indirect=True)
def test_what_is_no_manifest_is_told_with_its_address(place: str, tmp_path: Path) -> None:
    for content in (b"", b"\xff", b"[" * 100_000, b"{}"):
        (tmp_path / "m").write_bytes(content)
        RemoteFolder(parse_remote(place)).put(MANIFEST, tmp_path / "m")
        with pytest.raises(StoreError) as told:
            bring_store(parse_remote(place))
        assert str(told.value).startswith(f"{place}/manifest.json: ")
        assert "/tmp/" not in str(told.value)


@pytest.mark.parametrize("place", ["memory"], indirect=True)
def test_an_array_that_is_another_or_missing_is_told(place: str, tmp_path: Path) -> None:
    store, address = made_store(tmp_path / "s"), parse_remote(place)
    send_store(store, address)
    remote, name = RemoteFolder(address), "v000001/event_time.bin"
    (tmp_path / "other").write_bytes((store / name).read_bytes()[::-1])
    remote.put(name, tmp_path / "other")
    with pytest.raises(StoreError, match=r"event_time.bin: its content is not what the manifest says"):
        bring_store(address)
    (tmp_path / "other").write_bytes((store / name).read_bytes() + b"1")
    remote.put(name, tmp_path / "other")
    with pytest.raises(StoreError, match=r"event_time.bin: has more than 1,600 bytes"):
        bring_store(address)
    remote._files.rm_file(f"{address.path}/{name}")
    with pytest.raises(StoreError, match=r"event_time.bin: is not there"):
        bring_store(address)
    remote.put(name, store / name)
    assert content_of(bring_store(address)) == content_of(store)
