"""Runs ingest and append in children that die, and says what each left behind. Started by test_publish.py.

usage: crash_driver.py FOLDER every-step|random|race COUNT SEED

Children are forked before DuckDB has started a thread, so that a try costs a fraction of a second. ``every-step``
ends the child just before the k-th operation on a file (os._exit inside an audit hook), for every k there is;
``random`` sends kill -9 after a random time, at most about as long as the work takes; ``race`` lets two children do
different work at the same time, and nobody dies. One JSON line a try goes to standard output.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from gtea.errors import GteaError
from gtea.ingestion.append import append
from gtea.ingestion.ingest import ingest
from gtea.store.manifest import read_manifest
from gtea.store.verify import verify

FILE_EVENTS = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "shutil.rmtree"}
ROWS = 2_000


def table(start: int) -> pa.Table:
    numbers = np.arange(start, start + ROWS)
    return pa.table({
        "s": [f"a{n % 97}" for n in numbers], "d": [f"b{n % 89}" for n in numbers], "t": numbers * 31 % 1009,
        "x": numbers / 7,
    })  # fmt: skip


def build(store: Path, start: int = 0, *, overwrite: bool = True) -> None:
    ingest(table(start), src="s", dst="d", time="t", features=["x"], time_unit="step", out=store, overwrite=overwrite)


def extend(store: Path) -> None:
    append(store, table(ROWS), on_duplicate="keep")


def in_child(work: Callable[[], None]) -> int:
    """Run in a forked child and return its process id."""
    child = os.fork()
    if child:
        return child
    try:
        work()
    except BaseException as error:
        print(f"child failed: {error!r}", file=sys.stderr)
        os._exit(3)
    os._exit(0)


def finished(child: int) -> int:
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def dying_at(step: int, store: Path, work: Callable[[], None]) -> Callable[[], None]:
    """The same work, ended just before its ``step``-th file operation near the store."""

    def run() -> None:
        count = 0

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal count
            if event in FILE_EVENTS and str(store.parent) in str(arguments):
                count += 1
                if count == step:
                    os._exit(9)

        sys.addaudithook(hook)
        work()

    return run


def digest_of(store: Path) -> str | None:
    """The digest of the store if there is one; it must then be whole. Checked in a child of its own."""
    if not store.exists():
        return None
    reader, writer = os.pipe()

    def check() -> None:
        faults = verify(store, lambda stage, done: None)
        os.write(writer, (json.dumps(faults) if faults else read_manifest(store).digest).encode())

    code = finished(in_child(check))
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        return stream.read().decode() if code == 0 else f"verify failed with {code}"


def attempt(
    store: Path, old: Path | None, work: Callable[[], None], death: Callable[[Callable[[], None]], int]
) -> None:
    """From the state before, let the work die, and say what is there afterwards."""
    shutil.rmtree(store.parent, ignore_errors=True)
    store.parent.mkdir()
    if old is not None:
        shutil.copytree(old, store)
    code = death(work)
    print(json.dumps({"exit": code, "found": digest_of(store)}), flush=True)


def race(folder: Path, count: int, first: Path, chance: random.Random) -> None:
    """Two ingests where nothing is, two over a store, two appends: each child with events of its own."""
    store, said = folder / "race" / "store", folder / "said"
    for number in range(count):
        kind = ("ingest", "overwrite", "append")[number % 3]
        shutil.rmtree(store.parent, ignore_errors=True)
        store.parent.mkdir()
        if kind != "ingest":
            shutil.copytree(first, store)

        def work(start: int, kind: str = kind) -> None:
            time.sleep(chance.uniform(0, 0.02))
            try:
                if kind == "append":
                    append(store, table(start), on_duplicate="keep")
                else:
                    build(store, start, overwrite=kind == "overwrite")
            except GteaError as error:
                said.with_suffix(f".{start}").write_text(str(error))
                raise

        children = [in_child(lambda start=start: work(start)) for start in (ROWS, 2 * ROWS)]  # type: ignore[misc]
        codes = [finished(child) for child in children]
        words = [path.read_text() for path in folder.glob("said.*")]
        for path in folder.glob("said.*"):
            path.unlink()
        left = sorted(entry.name for entry in store.parent.iterdir())
        facts = {"kind": kind, "codes": codes, "said": words, "left": left, "found": digest_of(store)}
        print(json.dumps(facts), flush=True)


def main() -> None:
    folder, mode, count, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    chance = random.Random(seed)
    first, both, store = folder / "first", folder / "both", folder / "work" / "store"
    assert finished(in_child(lambda: build(first))) == 0
    shutil.copytree(first, both)
    assert finished(in_child(lambda: extend(both))) == 0
    print(json.dumps({"first": digest_of(first), "both": digest_of(both)}), flush=True)
    if mode == "race":
        race(folder, count, first, chance)
        return
    longest = {"ingest": 0.2, "overwrite": 0.2, "append": 0.2}  # seconds until the kill; learnt below
    for number in range(count):
        # Ingest where nothing is, ingest over a store, append to a store, in turn.
        kind = ("ingest", "overwrite", "append")[number % 3]
        old = {"ingest": None, "overwrite": both, "append": first}[kind]
        work = (lambda: extend(store)) if kind == "append" else (lambda: build(store))
        print(json.dumps({"kind": kind}), flush=True)

        def by_step(work: Callable[[], None], step: int = number // 3 + 1) -> int:
            return finished(in_child(dying_at(step, store, work)))

        def by_signal(work: Callable[[], None], kind: str = kind) -> int:
            child = in_child(work)
            time.sleep(chance.uniform(0, longest[kind]))
            os.kill(child, signal.SIGKILL)
            code = finished(child)
            # How long the work takes depends on the machine and on what else it does, so the wait follows it: about
            # three kills of four strike work under way, spread over the whole of it.
            longest[kind] *= 0.7 if code == 0 else 1.15
            return code

        attempt(store, old, work, by_step if mode == "every-step" else by_signal)
        # Whatever was left, the next try must go through and leave nothing lying about.
        if number % 7 == 0:
            code = finished(in_child(lambda: build(store)))
            left = sorted(entry.name for entry in store.parent.iterdir())
            print(json.dumps({"retry": code, "left": left, "found": digest_of(store)}), flush=True)


main()
