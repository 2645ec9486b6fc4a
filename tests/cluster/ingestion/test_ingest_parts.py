"""A store made in parts is the store made at once, to the byte, whatever the input, the parts and who works."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cluster.conftest import InThisProcess
from tests.cluster.ingestion.conftest import EVENTS, FINE, content, hub_files, written

from gtea.cluster.carriers import Carrier
from gtea.cluster.ingestion.ingest_parts import ingest_on
from gtea.cluster.job_array import JobArray
from gtea.cluster.local_pool import LocalPool
from gtea.cluster.part_files import PartFile
from gtea.cluster.schedule import run_in_order
from gtea.cluster.tasks import FileTask, outcome_of, part_path
from gtea.errors import DataError, GteaError, UsageError
from gtea.ingestion.ingest import ingest
from gtea.store.verify import verify

QUICK = (hypothesis.Phase.explicit, hypothesis.Phase.reuse, hypothesis.Phase.generate)
"""An example has many tasks: a smaller one is not worth minutes."""
IDS = st.sampled_from(["a", "b", "c", "0", "00", "é", "zz", "hub", "hub", "hub", ""])
TIMES = st.sampled_from(["1600000000", "1600000001", "1600000000", "1600000000.5", "1600000000000", "later", ""])
PLAIN_TIMES = st.sampled_from(["5", "6", "7", "7"])
AMOUNTS = st.sampled_from(["0", "1.5", "-0.0", "many", "nan"])
KINDS = st.sampled_from(["card", "", "é", "wire"])


def rows_of(times: Any) -> Any:
    """Some files of some rows."""
    return st.lists(st.lists(st.tuples(IDS, IDS, times, AMOUNTS, KINDS), max_size=25), min_size=1, max_size=4)


def outcome(work: Callable[[], Any], out: Path) -> Any:
    """What came of an ingest: the store and the file of bad rows, or the message."""
    try:
        work()
    except GteaError as error:
        return type(error).__name__, error.lines
    bad = out.with_name(f"{out.name}.bad_rows.csv")
    return content(out), bad.read_bytes() if bad.exists() else None


def both(
    folder: Path, paths: Sequence[Path], parts: int, carrier: Carrier | None = None, **options: Any
) -> tuple[Any, Any]:
    """What came of an ingest at once, and of one in parts."""
    given = {**EVENTS, **options}
    at_once, in_parts = folder / "one" / "s", folder / "parts" / "s"
    one = outcome(lambda: ingest(paths, out=at_once, **given), at_once)
    other = outcome(
        lambda: ingest_on(carrier or InThisProcess(), paths, out=in_parts, parts=parts, grain=FINE, **given), in_parts
    )
    return one, other


@hypothesis.settings(max_examples=8, phases=QUICK)
@hypothesis.given(
    rows_of(TIMES), st.integers(1, 5), st.booleans(), st.sampled_from(["error", "skip", "quarantine"]),
    st.booleans(), st.sampled_from(["drop", "keep"]),
)  # fmt: skip
def test_text_bad_rows_duplicates_and_mixed_units(
    tmp_path_factory: Any, files: Any, parts: int, parquet: bool, bad_rows: str, directed: bool, loops: str
) -> None:
    folder = tmp_path_factory.mktemp("ingest")
    options: dict[str, Any] = {"bad_rows": bad_rows, "directed": directed, "self_loops": loops, "allow_any_date": True}
    one, other = both(folder, written(folder, files, parquet=parquet), parts, **options)
    assert one == other


@hypothesis.settings(max_examples=5, phases=QUICK)
@hypothesis.given(rows_of(PLAIN_TIMES), st.integers(1, 5), st.booleans())
def test_ties_keep_the_order_of_the_input(tmp_path_factory: Any, files: Any, parts: int, plain: bool) -> None:
    """With and without anything that tells equal events apart."""
    folder = tmp_path_factory.mktemp("ingest")
    paths = written(folder, files)
    columns: dict[str, Any] = {"features": [], "categorical": []} if plain else {}
    one, other = both(folder, paths, parts, time_unit="step", bad_rows="skip", self_loops="keep", **columns)
    assert one == other
    assert verify(folder / "parts" / "s", lambda stage, done: None) == []


def test_whole_numbers_as_ids_and_every_kind_of_time(tmp_path: Path) -> None:
    """Also negative ones, and files whose types differ."""
    rng = random.Random(0)
    for case, times in enumerate([
        [pa.array([1.6e9, 1.6e9 + 1]), pa.array([1.6e9 + 0.25, 1.7e9])],
        [pa.array([1_600_000_000_000, 7], pa.int64()), pa.array([1_600_000_000, 8], pa.int64())],
        [pa.array(["2020-09-13", "1600000000"]), pa.array(["2020-09-13T12:00:00.5", "2020-09-14"])],
        [pa.array([1_600_000_000, 5], pa.int64()), pa.array(["1600000000", "6"])],
        [pa.array([5, 6], pa.timestamp("ns")), pa.array([7_000, 8_000], pa.timestamp("ns"))],
    ]):  # fmt: skip
        folder = tmp_path / str(case)
        folder.mkdir()
        paths = []
        for number, column in enumerate(times):
            ids = [[rng.randrange(-3 if case % 2 else 0, 12) for _ in range(30)] for _ in range(2)]
            paths.append(folder / f"{number}.parquet")
            table = {"src": ids[0], "dst": ids[1], "time": column.take(pa.array([0, 1] * 15)), "amount": range(30)}
            pq.write_table(pa.table({**table, "kind": ["x"] * 30}), paths[-1])
        one, other = both(folder, paths, 3, allow_any_date=True, bad_rows="skip")
        assert isinstance(one[0], dict), one
        assert one == other, case


def test_what_is_refused_is_refused_in_the_same_words(tmp_path: Path) -> None:
    """A date before 1970 in one file; times that need a unit in which others don't fit."""
    early = [[("a", "b", "5", "1", "x")], [("a", "b", "-5", "1", "x")]]
    far = [[("a", "b", "99999999999999", "1", "x")], [("a", "b", "1.000000001", "1", "x")]]
    in_seconds: dict[str, Any] = {"time_unit": "s", "allow_any_date": True}
    cases: list[tuple[Any, dict[str, Any]]] = [(early, {}), (far, in_seconds)]
    for number, (files, options) in enumerate(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        one, other = both(folder, written(folder, files), 2, **options)
        assert one[0] == "DataError"
        assert one == other


def test_a_hub_and_a_heavy_pair_are_spread(tmp_path: Path) -> None:
    sizes: dict[str, int] = {}

    def note(task: FileTask, folder: Path) -> None:
        if task.name.startswith(("sort", "slots")):
            file = PartFile.open(task.path(folder))
            sizes[task.name] = file.num_rows("event_time" if task.name.startswith("sort") else "slot_edge")

    one, other = both(tmp_path, hub_files(tmp_path), 5, InThisProcess(note), time_unit="step")
    assert one == other
    # The pair with 900 of 1,560 events can't be cut; the hub, which is in nearly all others, is.
    assert sorted(size for name, size in sizes.items() if name.startswith("sort"))[-2] < 500
    assert sum(size > 0 for name, size in sizes.items() if name.startswith("slots")) > 1


def test_what_is_finished_is_not_made_again_and_what_is_damaged_is(tmp_path: Path) -> None:
    """Every file of the job is damaged in turn, at the end of the job, right before the store is made."""
    paths = hub_files(tmp_path)
    options = {**EVENTS, "time_unit": "step", "parts": 3, "grain": FINE}
    ingest(paths, out=tmp_path / "one", **{**EVENTS, "time_unit": "step"})
    expected = content(tmp_path / "one")

    def stop(task: FileTask, folder: Path) -> None:
        if task.name == "slots.2":
            raise KeyboardInterrupt

    out = tmp_path / "s"
    with pytest.raises(KeyboardInterrupt):
        ingest_on(InThisProcess(stop), paths, out=out, **options)
    folder = out.with_name("s.parts")
    for name in ("read.1", "times", "number.0", "scatter.0", "scatter.2", "sort.1", "seams", "ends.0", "slots.1"):
        path = part_path(folder, name)
        damaged = bytearray(path.read_bytes())
        damaged[0] ^= 1
        path.write_bytes(damaged)
    times_of_files = {path: path.stat().st_mtime_ns for path in folder.glob("*.part")}
    assert ingest_on(LocalPool(1), paths, out=out, **options) is not None
    assert content(out) == expected
    assert len(times_of_files) > 20
    assert not folder.exists()


def test_a_damaged_file_that_is_found_late_is_made_again(tmp_path: Path) -> None:
    """What a task reads is damaged between the tasks: also where DuckDB is what reads it."""
    paths = hub_files(tmp_path)
    ingest(paths, out=tmp_path / "one", **{**EVENTS, "time_unit": "step"})
    harmed: list[str] = []
    after = {"scatter.2": "scatter.1", "ends.2": "ends.0", "slots.2": "sort.0"}

    class Engine:
        """Runs tasks here, one after the other."""

        def __init__(self, folder: Path) -> None:
            self.folder, self.left = folder, list[FileTask]()

        def room(self) -> int:
            return 1 - len(self.left)

        def start(self, task: FileTask) -> None:
            self.left.append(task)

        def next(self) -> tuple[str, dict[str, Any]]:
            task = self.left.pop()
            found = outcome_of(self.folder, task)
            if task.name in after and task.name not in harmed:
                harmed.append(task.name)
                path = part_path(self.folder, after[task.name])
                content = bytearray(path.read_bytes())
                content[0] ^= 1
                path.write_bytes(content)
            return task.name, found

    class Driver(InThisProcess):
        def run(self, tasks: Any, folder: Path, progress: Any, then: Any = None) -> bool:
            run_in_order(tasks, folder, Engine(folder), progress)
            return True

    ingest_on(Driver(), paths, out=tmp_path / "s", parts=3, grain=FINE, **{**EVENTS, "time_unit": "step"})
    assert sorted(harmed) == sorted(after)
    assert content(tmp_path / "s") == content(tmp_path / "one")


def test_a_worker_is_killed(tmp_path: Path) -> None:
    paths, killed = hub_files(tmp_path), list[int]()
    ingest(paths, out=tmp_path / "one", **{**EVENTS, "time_unit": "step"})

    def kill_one() -> None:
        """The first worker that there is when something has been scattered."""
        while not list(tmp_path.glob("s.parts/scatter.*.part")):
            time.sleep(0.002)
        children = Path(f"/proc/{os.getpid()}/task")
        pids = [int(pid) for task in children.iterdir() for pid in (task / "children").read_text().split()]
        workers = [pid for pid in pids if b"gtea.cluster.task_worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        os.kill(workers[0], signal.SIGKILL)
        killed.append(workers[0])

    killer = threading.Thread(target=kill_one, daemon=True)
    killer.start()
    ingest_on(LocalPool(2), paths, out=tmp_path / "s", parts=4, grain=FINE, **{**EVENTS, "time_unit": "step"})
    killer.join(timeout=60)
    assert len(killed) == 1
    assert content(tmp_path / "s") == content(tmp_path / "one")
    assert not (tmp_path / "s.parts").exists()


def test_jobs_of_an_array_share_a_folder(tmp_path: Path) -> None:
    """Two jobs, of which each has half of the tasks; started again, both find that all is done."""
    paths = hub_files(tmp_path)
    ingest(paths, out=tmp_path / "one", **{**EVENTS, "time_unit": "step"})
    ended = list[bool]()

    def job(number: int) -> None:
        options: dict[str, Any] = {**EVENTS, "time_unit": "step", "grain": FINE}
        ended.append(ingest_on(JobArray(number, 2), paths, out=tmp_path / "s", **options) is not None)

    for expected in ([False, True], [True, True]):
        ended.clear()
        jobs = [threading.Thread(target=job, args=(number,)) for number in range(2)]
        for each in jobs:
            each.start()
        for each in jobs:
            each.join(timeout=120)
        assert sorted(ended) == expected
        assert content(tmp_path / "s") == content(tmp_path / "one")
    assert sorted(path.name for path in (tmp_path / "s.parts").iterdir()) == ["job.json", "publish.part"]


def test_from_the_command_line(tmp_path: Path, gtea: Any) -> None:
    paths = written(tmp_path, [[("a", "b", "2", "1", "x")], [("b", "c", "3", "1", "x")]])
    words = ["ingest", *paths, "--src", "src", "--dst", "dst", "--time", "time", "--time-unit", "step"]
    assert gtea(*words, "--out", tmp_path / "one").code == 0
    made = gtea(*words, "--out", tmp_path / "s", "--on", "local:1", "--memory", "400MB")
    assert made.code == 0
    assert content(tmp_path / "s")["v000001/event_time.bin"] == content(tmp_path / "one")["v000001/event_time.bin"]
    refused: list[tuple[list[Any], str]] = [
        (["--sorted-parts"], "--parts, --work, --sorted-parts: only go with --on. Leave them out."),
        (["--on", "local:1", "--max-degree", 5], "--on: goes without --query, --nodes, --min-events-per-edge"),
        (["--on", "local:1", "--sorted-parts", "--parts", 2], "--sorted-parts: each file is a part (got --parts, too)"),
    ]
    for more, message in refused:
        answer = gtea(*words, "--out", tmp_path / "other", *more)
        assert answer.code == 2
        assert message in answer.err


def in_order(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Rows in the order of the lower account, the higher one, and the time."""

    def rank(account: str) -> tuple[int, bytes]:
        return len(account.encode()), account.encode()

    return sorted(rows, key=lambda row: (*sorted([rank(row[0]), rank(row[1])]), int(row[2])))


@hypothesis.settings(max_examples=4, phases=QUICK)
@hypothesis.given(rows_of(PLAIN_TIMES), st.integers(1, 3))
def test_sorted_parts_are_taken_as_they_are(tmp_path_factory: Any, files: Any, num_files: int) -> None:
    folder = tmp_path_factory.mktemp("ingest")
    rows = in_order([row for file in files for row in file if row[0] and row[1] and row[3] != "many"])
    cuts = [0]
    for number in range(1, num_files):
        place = max(cuts[-1], len(rows) * number // num_files)
        while 0 < place < len(rows) and set(rows[place][:2]) == set(rows[place - 1][:2]):
            place += 1
        cuts.append(place)
    pieces = [rows[start:stop] for start, stop in zip(cuts, [*cuts[1:], len(rows)], strict=True)]
    paths, given = written(folder, pieces, parquet=True), {**EVENTS, "time_unit": "step", "bad_rows": "skip"}
    ingest(paths, out=folder / "one", **given)
    ingest_on(InThisProcess(), paths, out=folder / "s", grain=FINE, sorted_parts=True, **given)
    assert content(folder / "s") == content(folder / "one")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([[("a", "b", "2", "1", "x"), ("a", "b", "1", "1", "x")]], r"events-0\.csv: is not in order\. With"),
        ([[("a", "c", "2", "1", "x"), ("b", "a", "1", "1", "x")]], r"events-0\.csv: is not in order\."),
        (
            [[("a", "b", "2", "1", "x")], [], [("b", "a", "3", "1", "x")]],
            r"events-2\.csv: begins where the file before it has not ended\.",
        ),
    ],
)
def test_sorted_parts_that_are_not_sorted_are_refused(tmp_path: Path, files: Any, message: str) -> None:
    paths = written(tmp_path, files)
    with pytest.raises(DataError, match=message):
        ingest_on(InThisProcess(), paths, out=tmp_path / "s", sorted_parts=True, **{**EVENTS, "time_unit": "step"})


def test_what_can_not_be_read_in_parts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--on: reads files \(got a database or a frame\)\. Write it to Parquet"):
        ingest_on(InThisProcess(), pa.table({"src": ["a"]}), out=tmp_path / "s", **EVENTS)


def test_an_input_that_changes_is_another_job(tmp_path: Path) -> None:
    paths = hub_files(tmp_path)
    options: dict[str, Any] = {**EVENTS, "time_unit": "step", "parts": 2}

    def stop(task: FileTask, folder: Path) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest_on(InThisProcess(stop), paths, out=tmp_path / "s", **options)
    with paths[1].open("a") as stream:
        stream.write("0,1,2,3,x\n")

    def appended(task: FileTask, folder: Path) -> None:
        if task.name == "read.0":
            paths[1].write_text(paths[1].read_text() + "0,1,2,3,x\n")

    with pytest.raises(UsageError, match=r"belongs to another job \(different: inputs\)"):
        ingest_on(InThisProcess(), paths, out=tmp_path / "s", **options)
    with pytest.raises(DataError, match=r"events-1\.csv: was changed since the job began\. Delete"):
        ingest_on(InThisProcess(appended), paths, out=tmp_path / "other", **options)


def test_a_store_is_replaced_only_if_asked_and_not_made_twice(tmp_path: Path) -> None:
    """A job that was killed right after the store was there finds that it is."""
    paths = hub_files(tmp_path)
    options: dict[str, Any] = {**EVENTS, "time_unit": "step", "parts": 2}

    def stop(task: FileTask, folder: Path) -> None:
        if task.name == "publish":
            part_path(folder, "publish").unlink()
            raise KeyboardInterrupt

    out = tmp_path / "s"
    with pytest.raises(KeyboardInterrupt):
        ingest_on(InThisProcess(stop), paths, out=out, **options)
    made = content(out)
    assert ingest_on(InThisProcess(), paths, out=out, **options) is not None
    assert content(out) == made
    with pytest.raises(UsageError, match=r"exists\. Choose another --out"):
        ingest_on(InThisProcess(), paths, out=out, **options)
    replaced = ingest_on(InThisProcess(), paths[:2], out=out, overwrite=True, **options)
    assert replaced is not None
    assert replaced.manifest.folder == "v000002"
    ingest(paths[:2], out=tmp_path / "one", **{**EVENTS, "time_unit": "step"})
    assert replaced.digest == ingest(paths[:2], out=tmp_path / "two", **{**EVENTS, "time_unit": "step"}).digest
