"""Scores of pairs in parts are those of one process, to the byte, whatever the model, the parts and who runs them."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.cluster.conftest import CPU, CUT, GRAIN, Case, InThisProcess

from gtea.cluster.carriers import Carrier
from gtea.cluster.job_array import JobArray
from gtea.cluster.local_pool import LocalPool
from gtea.cluster.part_files import PartFile
from gtea.cluster.scoring.pair_scores import score_pairs_on
from gtea.cluster.tasks import FileTask, part_path
from gtea.errors import UsageError
from gtea.store.store import Store


class StopError(Exception):
    """What stands for a driver that is killed."""


def in_parts(
    case: Case, model: Path, pairs: Path, parts: int | None, carrier: Carrier | None = None, **options: Any
) -> bytes:
    out = case.out / "parts.parquet"
    out.unlink(missing_ok=True)
    carrier = carrier or InThisProcess()
    given: dict[str, Any] = {"as_of": CUT, "device": CPU, "parts": parts, "grain": GRAIN, **options}
    assert score_pairs_on(carrier, model, case.store, str(pairs), out, **given) is not None
    assert not out.with_name("parts.parquet.parts").exists() or isinstance(carrier, JobArray)
    return out.read_bytes()


@pytest.mark.parametrize("name", ["hybrid", "gtea-l+t", "gtea-tx", "gtea-he"])
def test_every_model_has_the_bytes_of_one_process(case: Case, name: str) -> None:
    model, pairs = case.link_model(name), case.pairs()
    expected = case.expected_pairs(model, pairs)
    assert [in_parts(case, model, pairs, parts) == expected for parts in (1, 2, 5)] == [True] * 3


def test_the_setting_of_the_paper(plain_case: Case) -> None:
    """Two layers, and a head that reads nothing but the embeddings."""
    model, pairs = plain_case.link_model("gtea-l+t", link_head="dot", num_layers=2), plain_case.pairs()
    assert in_parts(plain_case, model, pairs, 3) == plain_case.expected_pairs(model, pairs)


def test_pairs_of_a_few_accounts(case: Case) -> None:
    """What lies around them is read, as one process does."""
    model, pairs, ran = case.link_model("hybrid"), case.pairs(few=True), InThisProcess()
    assert in_parts(case, model, pairs, 3, ran) == case.expected_pairs(model, pairs)
    assert "few" in ran.ran
    assert not [name for name in ran.ran if name.startswith("encode")]


def test_the_order_of_the_rows_changes_nothing(plain_case: Case) -> None:
    model, pairs = plain_case.link_model("hybrid"), plain_case.pairs()
    expected = plain_case.expected_pairs(model, pairs)
    header, *rows = pairs.read_text().splitlines()
    pairs.write_text("\n".join([header, *reversed(rows)]) + "\n")
    assert plain_case.expected_pairs(model, pairs) == expected


def test_a_table_in_text_and_its_summary(plain_case: Case) -> None:
    from gtea.scoring.options import ScoringOptions
    from gtea.scoring.table import score_pairs

    model, pairs, here = plain_case.link_model("gtea-he"), str(plain_case.pairs()), plain_case.out
    given: dict[str, Any] = {"as_of": CUT, "device": CPU, "for_spreadsheets": True}
    options = ScoringOptions(grain=GRAIN)
    one = score_pairs(model, plain_case.store, pairs, here / "one.csv", options=options, **given)
    parts = score_pairs_on(
        InThisProcess(), model, plain_case.store, pairs, here / "two.csv", parts=3, grain=GRAIN, **given
    )
    assert (here / "one.csv").read_bytes() == (here / "two.csv").read_bytes()
    assert parts == {**one, "out": str(here / "two.csv")}
    assert one["inactive"] > 0


def test_what_is_finished_is_not_made_again_and_what_is_damaged_is(plain_case: Case) -> None:
    model, pairs = plain_case.link_model("hybrid"), plain_case.pairs()
    expected = plain_case.expected_pairs(model, pairs)

    def stop(task: FileTask, folder: Path) -> None:
        if task.name == "answer.0":
            raise StopError

    with pytest.raises(StopError):
        in_parts(plain_case, model, pairs, 3, InThisProcess(stop))
    folder = plain_case.out / "parts.parquet.parts"
    before = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.part")}
    for name, place in (("grant.2", 3), ("lookup", 9), ("times.1", 0)):
        content = bytearray(part_path(folder, name).read_bytes())
        content[place] ^= 1
        part_path(folder, name).write_bytes(content)
    part_path(folder, "ends.1").write_bytes(b"")
    after: dict[str, int] = {}

    def look(task: FileTask, folder: Path) -> None:
        after.update({path.name: path.stat().st_mtime_ns for path in folder.glob("*.part")})

    assert in_parts(plain_case, model, pairs, None, InThisProcess(look)) == expected
    made_again = {name for name in before if after[name] != before[name]}
    assert made_again == {"grant.2.part", "lookup.part", "times.1.part", "ends.1.part"}


def test_a_pool_of_processes_goes_on_when_one_is_killed(plain_case: Case) -> None:
    model, pairs = plain_case.link_model("hybrid"), plain_case.pairs()
    expected = plain_case.expected_pairs(model, pairs)
    killed: list[int] = []

    def kill_one() -> None:
        """The first worker that is at work when accounts have been granted."""
        while not list(plain_case.out.glob("parts.parquet.parts/grant.*.part")):
            time.sleep(0.01)
        children = Path(f"/proc/{os.getpid()}/task")
        pids = [int(pid) for task in children.iterdir() for pid in (task / "children").read_text().split()]
        workers = [pid for pid in pids if b"gtea.cluster.task_worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        os.kill(workers[0], signal.SIGKILL)
        killed.append(workers[0])

    killer = threading.Thread(target=kill_one, daemon=True)
    killer.start()
    assert in_parts(plain_case, model, pairs, 5, LocalPool(2)) == expected
    killer.join(timeout=60)
    assert len(killed) == 1


def test_two_jobs_of_an_array_share_the_work(plain_case: Case) -> None:
    model, pairs = plain_case.link_model("gtea-he"), plain_case.pairs()
    expected, out = plain_case.expected_pairs(model, pairs), plain_case.out / "array.parquet"
    made = list[bool]()

    def job(number: int) -> None:
        given: dict[str, Any] = {"as_of": CUT, "device": CPU, "parts": 3, "grain": GRAIN}
        summary = score_pairs_on(JobArray(number, 2), model, plain_case.store, str(pairs), out, **given)
        made.append(summary is not None)

    threads = [threading.Thread(target=job, args=(number,), daemon=True) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert sorted(made) == [False, True]
    assert out.read_bytes() == expected


def test_no_task_sends_or_keeps_more_than_what_its_pairs_and_accounts_need(plain_case: Case) -> None:
    """Of each account at an end one row crosses to each part of the pairs that asks for it."""
    model, pairs, most = plain_case.link_model("hybrid"), plain_case.pairs(), dict[str, int]()

    def look(task: FileTask, folder: Path) -> None:
        file = PartFile.open(task.path(folder))
        if task.name.startswith("grant"):
            asked = {name: PartFile.open(part_path(folder, name)) for name in task.arguments["asking"]}
            part = task.arguments["part"]
            sent = {name: file.num_rows(f"z-to-{name}") for name in asked if f"z-to-{name}" in file.arrays}
            wanted = {name: each.num_rows(f"wanted-{part}") for name, each in asked.items()}
            assert sent == {name: count for name, count in wanted.items() if count}
        if task.name.startswith("answer"):
            most[task.name] = file.num_rows("nodes")

    in_parts(plain_case, model, pairs, 5, InThisProcess(look))
    assert len(most) == 5
    assert sum(most.values()) == len(pq.read_table(plain_case.out / "parts.parquet"))
    assert max(most.values()) <= 3 * GRAIN.pairs


def test_a_folder_of_another_list_is_refused(plain_case: Case) -> None:
    model, pairs = plain_case.link_model("gtea-he"), plain_case.pairs()

    def stop(task: FileTask, folder: Path) -> None:
        raise StopError

    with pytest.raises(StopError):
        in_parts(plain_case, model, pairs, 3, InThisProcess(stop))
    with pytest.raises(UsageError, match=r"belongs to another job .different: requested."):
        in_parts(plain_case, model, plain_case.pairs(few=True), 3)


def test_what_has_no_exact_scores_is_refused(plain_case: Case) -> None:
    model = plain_case.link_model("graphsage")
    with pytest.raises(UsageError, match=r"--on: exact scores of GTEA and of hybrids are made in parts .got a graphsa"):
        in_parts(plain_case, model, plain_case.pairs(), 2)


def test_the_graph_has_what_could_go_wrong(plain_case: Case) -> None:
    """Accounts without an event before the cut at ends of pairs, in several parts."""
    store = Store.open(plain_case.store)
    rows = [line.split(",") for line in plain_case.pairs().read_text().splitlines()[1:]]
    view = store.as_of(CUT)
    inactive = {end for row in rows for end in row if not view.degree(end)}
    assert len(inactive) > 3
    assert ["a020", "a020"] in rows
