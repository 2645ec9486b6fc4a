"""The commands as a user meets them: what they print, how quickly, and that the shell and Python agree."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gtea.nn.kernels import kernels

Run = Callable[..., Any]
GTEA = Path(sys.executable).with_name("gtea")


def test_help_imports_nothing_heavy() -> None:
    check = (
        "import sys; from gtea.cli.main import cli; cli.get_help(__import__('click').Context(cli)); print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "numpy", "duckdb", "pyarrow", "rich"} & set(loaded)


def test_help_and_version_answer_at_once() -> None:
    """By processor time: a busy machine is no fault of theirs."""
    for word in ("--help", "--version"):
        best = 9.0
        for _ in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            run = subprocess.run([GTEA, word], capture_output=True, text=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            best = min(best, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
        assert best < 0.3
    assert run.stdout.startswith("gtea 0.")


@pytest.mark.parametrize(
    "command", ["ingest", "append", "info", "verify", "export", "datasets", "synth", "demo", "doctor"]
)
def test_every_command_explains_itself(gtea: Run, command: str) -> None:
    outcome = gtea(command, "--help")
    assert outcome.code == 0
    assert len(outcome.out) > 200
    assert command in gtea("--help").out


def test_doctor_says_what_is_there(gtea: Run) -> None:
    facts = json.loads(gtea("doctor", "--json").out)
    assert facts["core"]["duckdb"]["ok"]
    assert facts["cores"] >= 1
    text = gtea("doctor").out
    assert "torch" in text
    assert "optional" in text


def test_doctor_says_what_to_do_about_what_is_missing(gtea: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    assert "To fix: pip install 'gtea[polars]'" in gtea("doctor").out
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert gtea("doctor").code == 1


def test_doctor_says_what_the_lstm_runs_on(gtea: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def line() -> str:
        kernels.cache_clear()
        return str(next(line for line in gtea("doctor").out.splitlines() if line.startswith("the LSTM on CPUs: ")))

    try:
        monkeypatch.setenv("GTEA_KERNELS", "off")
        assert line().endswith("PyTorch, because GTEA_KERNELS=off")
        monkeypatch.setenv("GTEA_KERNELS", "perhaps")
        assert "must be 'on' or 'off' (got 'perhaps')" in line()
        monkeypatch.delenv("GTEA_KERNELS")
        assert line().startswith("the LSTM on CPUs: compiled kernels, ") or line().endswith("would be faster")
        monkeypatch.setitem(sys.modules, "gtea_kernels", None)
        assert line().endswith("PyTorch; gtea_kernels, below, would be faster")
        assert "To fix: pip install 'gtea[kernels]'" in gtea("doctor").out
        monkeypatch.setitem(sys.modules, "gtea_kernels", ModuleType("gtea_kernels"))
        assert "gtea_kernels is installed but was built for another gtea. To fix: pip install" in line()
    finally:
        monkeypatch.undo()
        kernels.cache_clear()


def test_the_whole_path(gtea: Run, tmp_path: Path) -> None:
    store, day = tmp_path / "s", tmp_path / "day.csv"
    (tmp_path / "e.csv").write_text(
        "payer,payee,at,amount\na,b,2024-01-01T10:00:00Z,5\nb,a,2024-01-02,7\nc,c,2024-01-03,1\n"
    )
    made = gtea(
        "ingest", tmp_path / "e.csv", "--src", "payer", "--dst", "payee", "--time", "at", "--features", "amount",
        "--out", store,
    )  # fmt: skip
    assert made.code == 0
    assert "nodes            3" in made.out
    assert "time             2024-01-01T10:00:00Z to 2024-01-02T00:00:00Z, kept in 's'" in made.out
    assert "dropped: self_loop 1" in made.out
    assert "note             dates without a time zone were read as UTC" in made.out

    day.write_text("payer,payee,at,amount\nd,a,2024-01-04,2\na,b,2024-01-01T10:00:00Z,5\n")
    clash = gtea("append", store, day)
    assert clash.code == 3
    assert "'a' to 'b' at 2024-01-01T10:00:00Z" in clash.err
    grown = json.loads(gtea("append", store, day, "--on-duplicate", "drop", "--json").out)
    assert (grown["nodes"], grown["edges"], grown["events"], grown["self_loops"]) == (4, 2, 3, 1)
    assert json.loads(gtea("info", store, "--json").out) == grown

    assert gtea("verify", store).out.strip().endswith("all digests and invariants hold")
    out = gtea("export", store, "--format", "csv", "--out", tmp_path / "out.csv", "--as-of", "2024-01-02")
    assert out.out.startswith("1 events before 2024-01-02T00:00:00Z written to")
    assert (tmp_path / "out.csv").read_text() == '"payer","payee","at","amount"\n"a","b","2024-01-01T10:00:00Z",5\n'

    path = next((store / "v000002").glob("event_time.bin"))
    path.write_bytes(b"x" * path.stat().st_size)
    broken = gtea("verify", store)
    assert broken.code == 4
    assert "event_time: the content of event_time.bin has changed" in broken.err
    as_json = gtea("verify", store, "--json")
    assert (as_json.code, json.loads(as_json.out)["ok"]) == (4, False)


@pytest.mark.slow
def test_the_demo_tells_what_a_tree_can_not_and_is_quick_the_second_time(gtea: Run, tmp_path: Path) -> None:
    words = ("demo", "--accounts", "800", "--events", "16000", "--out", tmp_path / "d", "--json")
    first = json.loads(gtea(*words).out)
    model = first["model"]
    assert model["test"]["macro_f1"] > 0.9  # at the threshold that 160 accounts have chosen
    assert model["test"]["average_precision"] > 0.95
    assert model["test_trees_alone"]["macro_f1"] < 0.6
    assert len(first["report"]["first"]) == 10
    case = tmp_path / "d" / "case"
    written = (case / "model" / "manifest.json").stat().st_mtime_ns
    again = gtea(*words[:-1])
    assert (case / "model" / "manifest.json").stat().st_mtime_ns == written
    assert f"open {case / 'report' / 'index.html'}: 50 accounts with their reasons" in again.out
    assert first["report"]["first"][0]["reason"] in again.out


def test_histograms_in_a_terminal(gtea: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pty

    (tmp_path / "e.csv").write_text("s,d,t\n" + "".join(f"hub,n{i},{i}\n" for i in range(40)) + "hub,n1,99\n")
    gtea(
        "ingest",
        tmp_path / "e.csv",
        "--src",
        "s",
        "--dst",
        "d",
        "--time",
        "t",
        "--time-unit",
        "step",
        "--out",
        tmp_path / "s",
    )
    master, slave = pty.openpty()
    shown = subprocess.run([GTEA, "info", tmp_path / "s"], stdout=slave, stderr=subprocess.PIPE, check=True)
    assert shown.stderr == b""
    text = __import__("os").read(master, 65536).decode()
    assert "degree" in text
    assert "32-63" in text
    assert "█" in text


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    run = subprocess.run(f"{GTEA} --help | head -n 1", shell=True, capture_output=True, text=True, check=True)
    assert "Traceback" not in run.stderr
