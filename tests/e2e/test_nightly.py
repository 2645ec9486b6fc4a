"""deploy/nightly.sh: killed at every step and run again, it ends the same, and nothing is appended twice."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from tests.conftest import array_bytes
from tests.e2e.forked_commands import serving_commands
from tests.postgres import PASSWORD, Postgres
from tests.training.conftest import QUICK

from gtea.datasets.payments import PaymentsSpec, write_payments
from gtea.ingestion.ingest import ingest
from gtea.store.store import Store

SCRIPT = Path(__file__).parents[2] / "deploy" / "nightly.sh"
COLUMNS: dict[str, Any] = {"src": "payer", "dst": "payee", "time": "timestamp", "features": ["amount"]}
NIGHT = "2024-06-20"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory, gtea_once: Callable[..., int]) -> Path:
    """A folder with a store, a model, scores of an earlier night and a delivery of the day after."""
    folder = tmp_path_factory.mktemp("bank")
    transactions, labels = write_payments(PaymentsSpec(accounts=80, events=1500, illicit_share=0.4), folder)
    table = pq.read_table(transactions).sort_by("timestamp")
    known = len(table) - 200
    ingest(table.slice(0, known), **COLUMNS, time_unit="s", out=folder / "store")
    pacsv.write_csv(table.slice(known), folder / "delivery.csv")
    settings = [word for setting in (*QUICK, "train.epochs=1") for word in ("--set", setting)]
    words = (
        "train",
        folder / "store",
        "--variant",
        "gtea-l",
        "--labels",
        labels,
        *settings,
        "--out",
        folder / "model",
        "--unknown",
        "skip",
    )
    assert gtea_once(*words) == 0
    first = pa.compute.max(table.slice(0, known)["timestamp"]).as_py()
    scores = folder / "out" / "2024-01-01" / "scores.parquet"
    scores.parent.mkdir(parents=True)
    assert gtea_once("score", folder / "model", folder / "store", "--as-of", str(first), "--out", scores) == 0
    return folder


@pytest.fixture(scope="module")
def gtea_once() -> Callable[..., int]:
    from gtea.cli.main import main

    def run(*words: object) -> int:
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in words])
        return int(stop.value.code or 0)

    return run


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder with a short name, for a socket."""
    with tempfile.TemporaryDirectory(prefix="gtea-n-", dir="/tmp") as name:
        yield Path(name)


@pytest.fixture
def run(bank: Path, place: Path, tmp_path: Path) -> Iterator[Run]:
    """Runs the script on a copy of the bank's folder."""
    shutil.copytree(bank, tmp_path / "bank")
    with serving_commands(place) as program:

        def nightly(*words: object, kill: str = "", **more: str) -> subprocess.CompletedProcess[str]:
            (place / "commands").write_text("")
            settings = {
                "GTEA": str(program),
                "GTEA_STORE": "store",
                "GTEA_MODEL": "model",
                "GTEA_OUT": "out",
                "GTEA_KILL": kill or "0:",
                "GTEA_REPORT": "--top 2 --no-exports --jobs 1",
                "GTEA_MONITOR": "--days 2 --max-unseen none --max-feature-drift none --max-score-drift none",
                **more,
            }
            command = ["bash", str(SCRIPT), *map(str, words)]
            return subprocess.run(
                command, cwd=tmp_path / "bank", env=os.environ | settings, capture_output=True, text=True, timeout=600
            )

        yield nightly


def results(folder: Path) -> dict[str, bytes]:
    """What a night left, by file."""
    night = folder / "out" / NIGHT
    return {str(path.relative_to(night)): path.read_bytes() for path in sorted(night.rglob("*")) if path.is_file()}


@pytest.mark.slow
def test_killed_at_every_step_it_ends_the_same(run: Run, tmp_path: Path, bank: Path) -> None:
    folder = tmp_path / "bank"
    done = run(NIGHT, "delivery.csv")
    assert done.returncode == 0, done.stderr
    wanted, store = results(folder), Store.open(folder / "store")
    assert {"scores.parquet", "scores.changes.parquet", "report/index.html", "monitor/monitor.json"} <= set(wanted)
    assert store.num_events == 1500
    assert json.loads(wanted["score.json"])["changes"]["since"]
    shutil.rmtree(folder)
    shutil.copytree(bank, folder)
    killed = ("1:during", "1:after", "2:after", "3:during", "3:after", "4:during", "4:after", "5:after")
    for kill in killed:
        assert run(NIGHT, "delivery.csv", kill=kill).returncode == -9
    done = run(NIGHT, "delivery.csv")
    assert done.returncode == 0, done.stderr
    assert array_bytes(Store.open(folder / "store")) == array_bytes(store)
    assert len(Store.open(folder / "store").manifest.sources) == len(store.manifest.sources)
    again = results(folder)
    assert "nothing appended" in again.pop("append.txt").decode()
    del wanted["append.txt"]
    assert again == wanted
    assert not list((folder / "out").rglob("*.draft"))


def test_a_step_that_fails_is_named_and_its_code_returned(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "bank"
    (folder / "bad.csv").write_text("payer,payee,timestamp,amount\na,b,soon,1\n")
    done = run(NIGHT, "bad.csv")
    assert (done.returncode, "append failed with exit code 3" in done.stderr) == (3, True), done.stderr
    assert Store.open(folder / "store").num_events == 1300
    done = run(NIGHT, GTEA_MODEL="nowhere")
    assert (done.returncode, "score failed with exit code 5" in done.stderr) == (5, True), done.stderr
    assert not (folder / "out" / NIGHT / "score.json").exists()


def test_a_crossed_limit_is_code_6_and_everything_is_there(run: Run, tmp_path: Path) -> None:
    accounts = [f"A{number:07},{'illicit' if number else 'normal'}" for number in range(80)]
    (tmp_path / "bank" / "came_in.csv").write_text("\n".join(["account,label", *accounts]))
    done = run(NIGHT, GTEA_LABELS="came_in.csv")
    assert (done.returncode, "outside of a limit" in done.stderr) == (6, True), done.stderr
    assert (tmp_path / "bank" / "out" / NIGHT / "monitor" / "index.html").exists()


@pytest.mark.parametrize("words", [(), ("--help",), ("a/b",), ("../x",)])
def test_a_night_must_be_named(run: Run, words: tuple[str, ...]) -> None:
    assert run(*words).returncode == 2


def test_two_runs_do_not_meet(run: Run, tmp_path: Path) -> None:
    import fcntl

    with (tmp_path / "bank" / "out" / ".nightly.lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        assert run(NIGHT).returncode == 75


def test_a_delivery_from_a_database_is_appended_once(run: Run, tmp_path: Path, postgres: Postgres) -> None:
    folder = tmp_path / "bank"
    postgres.fill("delivered", pacsv.read_csv(folder / "delivery.csv"))
    for kill in ("1:after", "2:after", "2:after"):
        query = {"GTEA_QUERY": "SELECT * FROM delivered", "kill": kill}
        assert run(NIGHT, postgres.address, **query).returncode == -9
        assert Store.open(folder / "store").num_events == 1500
    written = [path for path in folder.rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()]
    assert written == []
