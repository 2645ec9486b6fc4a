"""Killed at any moment, or two at once: no store, or a whole one; nothing that was finished is lost."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import shutil
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.small_files import small_files

from gtea.errors import StoreError, UsageError
from gtea.ingestion.append import append
from gtea.runtime.files import draft_folder
from gtea.store.publish import publish, scratch_for, writing
from gtea.store.store import Store
from gtea.store.verify import verify

Make = Callable[..., Store]
EVENTS = [("a", "b", 1, 1.0)]
DRIVER = Path(__file__).with_name("crash_driver.py")


def driven(folder: Path, mode: str, count: int, seed: int) -> list[dict[str, Any]]:
    command = [sys.executable, str(DRIVER), str(folder), mode, str(count), str(seed)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def outcomes(folder: Path, mode: str, count: int, seed: int) -> Counter[str]:
    whole, *lines = driven(folder, mode, count, seed)
    first, both = whole["first"], whole["both"]
    allowed = {"ingest": {None, first}, "overwrite": {both, first}, "append": {first, both}}
    before = {"ingest": None, "overwrite": both, "append": first}
    seen: Counter[str] = Counter()
    kind = ""
    for line in lines:
        if "kind" in line:
            kind = line["kind"]
        elif "retry" in line:
            assert line == {"retry": 0, "left": ["store"], "found": first}
        else:
            assert line["found"] in allowed[kind], (kind, line)
            if line["exit"] == 0:  # it had finished: what it made must be there
                assert line["found"] != before[kind]
            seen["finished" if line["exit"] == 0 else "old" if line["found"] == before[kind] else "new"] += 1
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_kill_9_at_random_moments(tmp_path: Path, seed: int) -> None:
    seen = outcomes(tmp_path, "random", 102, seed)
    assert seen.total() == 102
    assert seen["old"] > 20  # the kills did strike while work was under way


@pytest.mark.slow
def test_death_before_every_single_file_operation(tmp_path: Path) -> None:
    seen = outcomes(tmp_path, "every-step", 330, 0)
    assert seen["old"] > 100
    assert seen["new"] > 0  # some die after publication: then the new store must be whole
    assert seen["finished"] > 0  # the steps were all tried: the last ones come after the end


def test_of_two_writers_one_wins_and_the_other_hears_why(tmp_path: Path) -> None:
    """Or the second came so late that it wrote after the first: then both did what was asked."""
    whole, *lines = driven(tmp_path, "race", 3, 0)
    for line in lines:
        assert line["left"] == ["store"]
        assert len(str(line["found"])) == len(whole["first"])
        assert line["found"] != whole["first"]
        assert sorted(line["codes"]) in ([0, 3], [0, 0] if line["kind"] != "ingest" else [0, 3]), line
        for words in line["said"]:
            assert re.search(
                r"store: (another gtea process is writing to it\. Wait until it has finished\.|"
                r"another process created it in the meantime\. Choose another --out\.|exists\. Choose another --out,)",
                words,
            )


def test_who_comes_second_does_not_replace_the_first(tmp_path: Path, store_of: Make) -> None:
    path = tmp_path / "store"
    with scratch_for(path) as scratch:
        first = store_of(EVENTS, out=path)
        shutil.copytree(path / first.manifest.folder, scratch / "version")
        with pytest.raises(
            StoreError, match=r"store: another process created it in the meantime\. Choose another --out"
        ):
            publish(path, scratch / "version", first.manifest)
    assert list(tmp_path.iterdir()) == [path]
    assert verify(path, lambda stage, done: None) == []


def test_without_room_for_the_manifest_nothing_is_left_of_a_version(store_of: Make) -> None:
    store = store_of(EVENTS)
    with pytest.raises(StoreError, match=r"/manifest\.json: File too large"), writing(store.path) as scratch:
        assert_nothing_is_published(store, scratch, small_files(1000))


def test_without_a_place_for_the_report_nothing_is_published(store_of: Make) -> None:
    store = store_of(EVENTS)
    (store.path / "data_report.json").unlink()
    (store.path / "data_report.json").mkdir()
    with pytest.raises(UsageError, match="must be a file"), draft_folder(store.path / "version") as scratch:
        assert_nothing_is_published(store, scratch, contextlib.nullcontext())


def assert_nothing_is_published(store: Store, scratch: Path, limit: contextlib.AbstractContextManager[None]) -> None:
    def around() -> list[Path]:
        return [path for path in sorted(store.path.rglob("*")) if scratch not in (path, *path.parents)]

    before = around()
    shutil.copytree(store.path / store.manifest.folder, scratch / "version")
    new = dataclasses.replace(store.manifest, folder="v000002", counts={**store.manifest.counts, "self_loops": 1})
    try:
        with limit:
            publish(store.path, scratch / "version", new)
    finally:
        assert Store.open(store.path).manifest == store.manifest
        assert around() == before


def test_a_disk_that_is_full_while_a_version_is_built_is_named_with_the_store(store_of: Make) -> None:
    store = store_of(EVENTS)
    with (
        pytest.raises(StoreError, match=rf"^{store.path}: File too large"),
        writing(store.path) as scratch,
        small_files(10),
    ):
        (scratch / "array.bin").write_bytes(b"x" * 100)


def test_a_new_version_has_the_permissions_of_the_old_one(store_of: Make, helpers: Any) -> None:
    store = store_of(EVENTS)
    version = store.path / store.manifest.folder
    version.chmod(0o700)
    for file in (*version.iterdir(), store.path / "manifest.json"):
        file.chmod(0o600)
    appended = append(store.path, helpers.rows_table(EVENTS), on_duplicate="keep")
    folder = appended.path / appended.manifest.folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    files = (*folder.iterdir(), store.path / "manifest.json")
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_nothing_of_the_users_is_swept(store_of: Make, helpers: Any) -> None:
    store = store_of(EVENTS)
    own = [
        store.path.parent / "my.new-notes",
        store.path.parent / f".{store.path.name}.new-notes",
        store.path.parent / f".{store.path.name}.gtea-notes",
        store.path / "my.new-notes",
        store.path / ".new-20240101",
        store.path / "v000007",
    ]
    for folder in own:
        folder.mkdir()
        (folder / "todo.txt").write_text("mine")
    append(store.path, helpers.rows_table(EVENTS), on_duplicate="keep")
    assert all((folder / "todo.txt").read_text() == "mine" for folder in own)
