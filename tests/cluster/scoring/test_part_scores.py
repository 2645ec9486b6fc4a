"""Scores in parts are those of one process, to the byte, whatever the model, the parts and whoever runs them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.cluster.conftest import CPU, CUT, GRAIN, Case, InThisProcess

from gtea.cluster.carriers import Carrier
from gtea.cluster.job_array import JobArray
from gtea.cluster.local_pool import LocalPool
from gtea.cluster.scoring.part_scores import score_accounts_on
from gtea.cluster.tasks import FileTask, part_path
from gtea.errors import UsageError
from gtea.models.model_folder import load_model
from gtea.models.registry import GTEA_VARIANTS
from gtea.scoring.edge_cache import model_digest
from gtea.scoring.previous_scores import read_previous
from gtea.store.store import Store
from gtea.store.view import View


def in_parts(case: Case, model: Path, parts: int | None, carrier: Carrier | None = None, **options: Any) -> bytes:
    out = case.out / "parts.parquet"
    out.unlink(missing_ok=True)
    made = score_accounts_on(
        carrier or InThisProcess(), model, case.store, out, as_of=CUT, device=CPU, parts=parts, grain=GRAIN, **options
    )
    assert made is not None
    return out.read_bytes()


@pytest.mark.parametrize("name", [*GTEA_VARIANTS, "hybrid"])
def test_every_model_has_the_bytes_of_one_process(case: Case, name: str) -> None:
    model = case.model(name)
    expected = case.expected(model)
    assert [in_parts(case, model, parts) == expected for parts in (1, 2, 3, 7)] == [True] * 4


@pytest.mark.parametrize("changes", [{"num_layers": 1}, {"num_layers": 3, "attention": "softmax"}], ids=str)
def test_at_every_depth_and_if_nothing_is_discarded(plain_case: Case, changes: dict[str, Any]) -> None:
    model = plain_case.model("gtea-l+t", **changes)
    assert in_parts(plain_case, model, 3) == plain_case.expected(model)


def test_a_network_that_reads_ranks_and_partners_itself(plain_case: Case) -> None:
    kinds = ("statistics", "random", "partners", "rhythm")
    model = plain_case.model("gtea-l+t", nodes=kinds, rank_inputs=True, neighbour_labels=True)
    assert in_parts(plain_case, model, 3) == plain_case.expected(model)


def test_some_of_the_accounts(plain_case: Case) -> None:
    """Most of them are scored among all; of a few, what lies around them is read."""
    model, store = plain_case.model("hybrid"), Store.open(plain_case.store)
    for count in (250, 40):
        chosen = np.random.default_rng(0).choice(store.num_nodes, count, replace=False)
        accounts = plain_case.out / "accounts.csv"
        accounts.write_text("account\n" + "\n".join(store.account(int(node)) for node in chosen) + "\n")
        expected = plain_case.expected(model, accounts=str(accounts))
        assert in_parts(plain_case, model, 3, accounts=str(accounts)) == expected
        assert len(pq.read_table(plain_case.out / "parts.parquet")) == count


def test_a_table_in_text(plain_case: Case) -> None:
    from gtea.scoring.options import ScoringOptions
    from gtea.scoring.table import score_accounts

    model, here = plain_case.model("gtea-he"), plain_case.out
    options = ScoringOptions(grain=GRAIN)
    given: dict[str, Any] = {"as_of": CUT, "device": CPU, "for_spreadsheets": True}
    one = score_accounts(model, plain_case.store, here / "one.csv", options=options, **given)
    parts = score_accounts_on(InThisProcess(), model, plain_case.store, here / "two.csv", parts=3, grain=GRAIN, **given)
    assert (here / "one.csv").read_bytes() == (here / "two.csv").read_bytes()
    assert parts == {**one, "out": str(here / "two.csv")}
    assert not (here / "two.csv.parts").exists()


def test_a_pool_of_processes_goes_on_when_one_is_killed(plain_case: Case) -> None:
    model = plain_case.model("gtea-l")
    expected = plain_case.expected(model)
    killed: list[int] = []

    def kill_one() -> None:
        """The first worker that is at work when something has been encoded."""
        while not list(plain_case.out.glob("parts.parquet.parts/encode.*.part")):
            time.sleep(0.01)
        children = Path(f"/proc/{os.getpid()}/task")
        pids = [int(pid) for task in children.iterdir() for pid in (task / "children").read_text().split()]
        workers = [pid for pid in pids if b"gtea.cluster.task_worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        os.kill(workers[0], signal.SIGKILL)
        killed.append(workers[0])

    killer = threading.Thread(target=kill_one, daemon=True)
    killer.start()
    made = in_parts(plain_case, model, 4, LocalPool(2))
    killer.join(timeout=60)
    assert len(killed) == 1
    assert made == expected


class StopError(Exception):
    """What stands for a driver that is killed."""


def test_what_is_finished_is_not_made_again_and_what_is_damaged_is(plain_case: Case) -> None:
    model = plain_case.model("hybrid")
    expected = plain_case.expected(model)

    def stop(task: FileTask, folder: Path) -> None:
        if task.name == "renew-0.1":
            raise StopError

    with pytest.raises(StopError):
        in_parts(plain_case, model, 3, InThisProcess(stop))
    folder = plain_case.out / "parts.parquet.parts"
    before = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.part")}
    share = part_path(folder, "share-0.2")
    content = bytearray(share.read_bytes())
    content[3] ^= 1
    share.write_bytes(content)
    part_path(folder, "encode.1").write_bytes(b"")
    after: dict[str, int] = {}

    def look(task: FileTask, folder: Path) -> None:
        after.update({path.name: path.stat().st_mtime_ns for path in folder.glob("*.part")})

    assert in_parts(plain_case, model, None, InThisProcess(look)) == expected
    made_again = {name for name in before if after[name] != before[name]}
    assert made_again == {"share-0.2.part", "encode.1.part"}


def test_a_file_that_is_damaged_while_others_read_it_is_made_again(plain_case: Case) -> None:
    """By the pool: the task that finds it says so."""
    model = plain_case.model("gtea-l")
    expected, done = plain_case.expected(model), threading.Event()

    def harm() -> None:
        folder = plain_case.out / "parts.parquet.parts"
        while not done.is_set():
            for path in folder.glob("encode.0.part"):
                path.write_bytes(path.read_bytes()[:-5])
                done.set()

    thread = threading.Thread(target=harm, daemon=True)
    thread.start()
    assert in_parts(plain_case, model, 3, LocalPool(1)) == expected
    thread.join(timeout=60)
    assert done.is_set()


JOB = """
import sys
from pathlib import Path
import torch
from gtea.cluster.job_array import JobArray
from gtea.cluster.scoring.part_scores import score_accounts_on
from gtea.scoring.options import Grain
number, model, store, out, cut, *grain = sys.argv[1:]
score_accounts_on(JobArray(int(number), 2), Path(model), Path(store), Path(out), as_of=cut, device=torch.device("cpu"),
                  parts=4, grain=Grain(*map(int, grain)))
"""


def test_a_job_array_of_which_one_is_killed_and_started_again(plain_case: Case) -> None:
    model, out = plain_case.model("gtea-l"), plain_case.out / "array.parquet"
    expected = plain_case.expected(model)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "src"), "OMP_NUM_THREADS": "1"}
    made: list[bool] = []

    def job(number: int) -> subprocess.Popen[bytes]:
        words = [number, model, plain_case.store, out, CUT, *vars(GRAIN).values()]
        return subprocess.Popen([sys.executable, "-c", JOB, *map(str, words)], env=environment)

    def first() -> None:
        carrier, given = JobArray(0, 2), (model, plain_case.store, out)
        done = score_accounts_on(carrier, *given, as_of=CUT, device=CPU, parts=4, grain=GRAIN)
        made.append(done is not None)

    second, thread = job(1), threading.Thread(target=first, daemon=True)
    thread.start()
    while not list(out.with_name("array.parquet.parts").glob("encode.1.part")):
        time.sleep(0.01)
    second.kill()
    assert second.wait() == -signal.SIGKILL
    again = job(1)
    assert again.wait(timeout=300) == 0
    thread.join(timeout=300)
    assert not thread.is_alive()
    assert out.read_bytes() == expected
    # Started once more, a job finds that all is done.
    first()
    assert made[-1]
    assert out.read_bytes() == expected


def test_a_folder_of_another_job_is_refused_and_left_as_it_is(plain_case: Case) -> None:
    model = plain_case.model("gtea-he")

    def stop(task: FileTask, folder: Path) -> None:
        raise StopError

    with pytest.raises(StopError):
        in_parts(plain_case, model, 3, InThisProcess(stop))
    folder = plain_case.out / "parts.parquet.parts"
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(UsageError, match=r"belongs to another job .different: parts."):
        in_parts(plain_case, model, 2)
    with pytest.raises(UsageError, match=r"different: model, model_digest"):
        in_parts(plain_case, plain_case.model("gtea-l"), 3)
    assert sorted(path.name for path in folder.iterdir()) == before


def test_the_table_says_how_many_events_each_has_and_where_it_comes_from(plain_case: Case) -> None:
    """So that ``gtea score --since`` can compare later scores with it."""
    model, store = plain_case.model("gtea-he"), Store.open(plain_case.store)
    in_parts(plain_case, model, 3)
    before = read_previous(plain_case.out / "parts.parquet", store, None)
    view = store.as_of(CUT)
    expected = {store.account(node): len(list(_times_of(view, node))) for node in range(store.num_nodes)}
    assert before.events is not None
    assert dict(zip(before.accounts.to_pylist(), before.events.tolist(), strict=True)) == expected
    assert (before.cut, before.all_accounts) == (view.cut, True)
    assert before.model_digest == model_digest(load_model(model))


def _times_of(view: View, node: int) -> Iterator[int]:
    arrays = view.arrays
    for edge in range(view.store.num_edges):
        if node in (arrays.edge_a[edge], arrays.edge_b[edge]):
            times = arrays.event_time[arrays.edge_offset[edge] : arrays.edge_offset[edge + 1]]
            yield from times[times < view.cut].tolist()


def test_a_database_is_refused_before_any_work(plain_case: Case) -> None:
    model = plain_case.model("gtea-he")
    address = f"sqlite:///{plain_case.out}/scores.db/today"
    with pytest.raises(UsageError, match=r"--on: writes scores to a file .got the address of a database.. Try --out"):
        score_accounts_on(InThisProcess(), model, plain_case.store, address, as_of=CUT, device=CPU, parts=2)
    assert list(plain_case.out.iterdir()) == []


def test_a_prevalence_that_a_model_cannot_take_is_refused_before_any_work(plain_case: Case) -> None:
    with pytest.raises(UsageError, match=r"--prevalence: needs a model of accounts of two classes"):
        in_parts(plain_case, plain_case.model("gtea-he"), 2, prevalence=0.01)
    assert list(plain_case.out.iterdir()) == []


@pytest.mark.parametrize("other", [["--since", "old.parquet"], ["--sampled"], ["--cache", "c"]])
def test_what_parts_cannot_do_is_refused(gtea: Callable[..., Any], other: list[str]) -> None:
    refused = gtea("score", "model", "store", "--out", "s.parquet", "--on", "local:2", *other)
    assert refused.code == 2
    assert "--on: goes without --since, --sampled and --cache. Leave one of them out." in refused.err


def test_no_model_but_gtea_is_scored_in_parts(plain_case: Case) -> None:
    with pytest.raises(
        UsageError, match=r"--on: exact scores of GTEA and of hybrids are made in parts .got a graphsage"
    ):
        in_parts(plain_case, plain_case.model("graphsage"), 2)
