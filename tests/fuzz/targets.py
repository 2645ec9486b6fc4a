"""What is done with a mutated input, what it needs, and how it may be refused."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from tests.fuzz.folders import Files
from tests.fuzz.forging import forge_model, forge_parts, forge_run, forge_state, forge_store
from tests.fuzz.seeds import EARLIER, GRAIN, HERE, INGEST_JOB, MODIFIED, QUICK, VARIANTS

Run = Callable[[Path], bytes]
"""Uses the input in a folder, and returns what a user would get."""

_USAGE, _DATA, _STORE, _MODEL = 2, 3, 4, 5


@dataclass(frozen=True)
class Target:
    """One way to use an input."""

    name: str
    needs: tuple[str, ...]
    """The seeds that it uses, as beginnings of their names. The first one is mutated."""
    run: Run
    weight: int
    """How often it runs, relative to the others: the quicker, the oftener."""
    refusals: frozenset[int]
    """The exit codes with which it may refuse an input."""
    tells: bool = True
    """Whether digests cover all that it reads: a change must be refused, or change nothing."""
    writes: bool = False
    """Whether it changes the folder of its input, or leaves a new folder there."""
    forge: Callable[[Files], Files] | None = None
    """Makes the digests fit again. Then nothing can tell, but everything must still end well."""


def targets() -> tuple[Target, ...]:
    """All targets."""
    return (*_of_stores(), *_of_models(), *_of_tables(), *_of_caches(), *_of_databases())


def _command(words: str | list[str], *results: str) -> Run:
    """Run a command. The result is what it wrote, or else what it printed."""

    def run(folder: Path) -> bytes:
        from gtea.cli.main import cli

        printed = io.StringIO()
        with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
            cli.main(words.split() if isinstance(words, str) else words, prog_name="gtea", standalone_mode=False)
            return b"".join(Path(name).read_bytes() for name in results) or printed.getvalue().encode()

    return run


def _open(folder: Path) -> bytes:
    """Open a store, and look at it as a reader would."""
    from gtea.store.store import Store

    view = Store.open(folder / "store").as_of(None)
    nodes = np.arange(view.store.num_nodes)
    return repr((view.cut, view.store.digest, view.store.manifest, view.slot_ranges(nodes)[1].tolist())).encode()


def _load(name: str) -> Run:
    """Make a model ready to score."""

    def run(folder: Path) -> bytes:
        from gtea.models.model_folder import load_model
        from gtea.scoring.scorer import LinkModel, NodeModel

        kind = LinkModel if name == "links" else NodeModel
        ready = kind(load_model(folder / name), torch.device("cpu"))
        weights = b"".join(tensor.numpy().tobytes() for tensor in ready.network.state_dict().values())
        return weights + repr((ready.config, ready.correction, ready.threshold)).encode()

    return run


def _settings(folder: Path) -> bytes:
    """Read settings for each task."""
    from gtea.config import read_config
    from gtea.models.registry import default_config, model_config

    path = folder / "settings.toml"
    return repr([read_config(path, (), default_config(model_config("hybrid"), task)) for task in _TASKS]).encode()


def _request(labels: str, config: str | None = None) -> Run:
    """Read everything that trainings need, and split, but don't train."""

    def run(folder: Path) -> bytes:
        from gtea.training.request import LinkRequest, NodeRequest

        with contextlib.chdir(folder):
            settings = None if config is None else Path(config)
            task = NodeRequest.read(Path("store"), labels, config=settings).once(Path("new"))
            found = [task.split.describe(), task.config.to_json()]
            if config is not None:
                links = LinkRequest.read(Path("store"), config=settings).once(Path("new"))
                found += [links.split.describe(), links.config.to_json()]
            return json.dumps(found).encode()

    return run


def _watch(folder: Path) -> bytes:
    """Go on from a saved state to the end of the events; what comes out doesn't depend on whether it was used."""
    from gtea.live.event_lines import EventLines
    from gtea.live.growing_input import GrowingInput
    from gtea.live.live_scorer import LiveScorer

    source = GrowingInput(folder / "more.csv", once=True)
    model, store, state = folder / "hybrid", folder / "store", folder / "live.state"
    with contextlib.closing(source):
        scorer = LiveScorer(model, store, state=state, still_fits=source.skip_to)
        lines = EventLines(scorer.reader)
        if source.num_lines:
            lines.read([(1, source.first_line())])
        for numbered in source.batches(100, lambda: False):
            scorer.update_records([row for _, _, row in lines.read(numbered)[0]])
        scorer.settle()
        top = scorer.top(1000)
    found = sorted(zip(top["account"].to_pylist(), top["score"].to_pylist(), strict=True))
    return repr([(account, round(score, 4)) for account, score in found]).encode()


def _resume_job(folder: Path) -> bytes:
    """End a job in parts that was stopped."""
    from gtea.cluster.job_array import JobArray
    from gtea.cluster.scoring.part_scores import score_accounts_on

    cpu = torch.device("cpu")
    _put_here(folder, "job")
    out = folder / "scores-of-job.csv"
    model, store = folder / "hybrid", folder / "store"
    score_accounts_on(JobArray(0, 1), model, store, out, device=cpu, work=folder / "job", grain=GRAIN)
    return out.read_bytes()


def _resume_ingest(folder: Path) -> bytes:
    """End an ingest in parts that was stopped."""
    from gtea.cluster.ingestion.ingest_parts import ingest_on
    from gtea.cluster.job_array import JobArray

    _put_here(folder, "ingest-job")
    os.utime(folder / "events.csv", ns=(MODIFIED, MODIFIED))
    with contextlib.chdir(folder):
        made = ingest_on(JobArray(0, 1), "events.csv", **INGEST_JOB)
    assert made is not None
    return made.digest.encode()


def _put_here(folder: Path, name: str) -> None:
    """Let the job of a folder have the paths of this one."""
    job = folder / name / "job.json"
    if job.is_file() and not job.is_symlink():
        job.write_bytes(job.read_bytes().replace(HERE.encode(), str(folder).encode()))


def _log(folder: Path) -> bytes:
    """Start a service with a log: its events, and what it would answer to a request that comes again."""
    from gtea.service.event_log import EventLog
    from gtea.store.schema import Schema
    from gtea.store.store import Store

    log = EventLog(folder / "log", Schema.from_json(Store.open(folder / "store").manifest.schema))
    with contextlib.closing(log):
        return repr((log.name, log.events(0, 100))).encode()


def _address(folder: Path) -> bytes:
    """Take the address of a database apart, as a command line gives it."""
    from gtea.ingestion.database_address import parse_address

    return repr(parse_address(os.fsdecode((folder / "address.txt").read_bytes()))).encode()


def _trials(folder: Path) -> bytes:
    """Read the trials of a search, and write their table."""
    from gtea.experiments.tune.trials import read_trials, write_table

    trials = read_trials(folder)
    write_table(folder / "trials.csv", trials or [], "f1_macro") if trials else None
    return repr(trials).encode()


def _prepared(folder: Path) -> bytes:
    """Find the data of an experiment in a prepared folder."""
    from gtea.experiments.runs.subject import named_subject

    return repr(named_subject(str(folder / "prepared"), folder, protocol="temporal")).encode()


_TASKS: tuple[Literal["nodes", "links"], ...] = ("nodes", "links")
_SET = " ".join(f"--set {setting}" for setting in QUICK)
_SOME = "--accounts accounts.csv --unknown skip"
_PAIRS = "--pairs pairs.csv --unknown skip"


def _score(model: str, options: str = "") -> Run:
    return _command(f"score {model} store --out scores.csv {options}", "scores.csv")


_report = _command("report hybrid store --out pages --top 2 --jobs 1 --json", "pages/index.html")


def _train(options: str, out: str) -> Run:
    words = f"train store --labels labels.csv {_SET} {options}"
    return _command(
        words, *(f"{out}/{name}" for name in ("model.safetensors", "preprocessing.json", "thresholds.json"))
    )


def _of_stores() -> tuple[Target, ...]:
    forge = partial(forge_store, folder="store")
    of = partial(Target, refusals=frozenset({_STORE}), forge=forge)
    # What is not verified may come out as anything, but must come out.
    unverified = partial(of, tells=False, refusals=frozenset({_DATA, _STORE, _MODEL}))
    return (
        unverified("open", ("store/",), _open, 120),
        of("info", ("store/",), _command("info store --json"), 40),
        of("verify", ("store/",), _command("verify store"), 40, writes=True),
        of("export", ("store/",), _command("export store --format csv --out new.csv", "new.csv"), 15),
        of("export pyg", ("store/",), _command("export store --format pyg --out tensors", "tensors"), 10),
        *(of(f"score {name}", ("store/", f"{name}/"), _score(name), 8) for name in VARIANTS),
        unverified("score unverified", ("store/", "gtea/"), _score("gtea", "--no-verify"), 15),
        unverified("score some", ("store/", "hybrid/", "accounts.csv"), _score("hybrid", _SOME), 6),
        unverified("score pairs", ("store/", "links/", "pairs.csv"), _score("links", _PAIRS), 8),
        of(
            "evaluate",
            ("store/", "gtea/", "labels.csv"),
            _command("evaluate gtea store --labels labels.csv --verify --json"),
            6,
        ),
        unverified("explain", ("store/", "hybrid/"), _command("explain hybrid store a3 --json"), 6),
        of("report", ("store/", "hybrid/"), _report, 2, tells=False, writes=True),
        of("train", ("store/", "labels.csv"), _train("--variant gtea-l+t --out new", "new"), 3, writes=True),
        of("append", ("store/", "more.csv"), _command("append store more.csv --json"), 2, writes=True),
    )


def _of_models() -> tuple[Target, ...]:
    def of(kind: str, name: str, run: Run, weight: int, *needs: str) -> Target:
        forge = partial(forge_model, folder=name)
        return Target(f"{kind} {name}", (f"{name}/", *needs), run, weight, frozenset({_MODEL}), forge=forge)

    resume = _train("--variant hybrid --resume run", "run")
    forge = partial(forge_run, folder="run/")
    return (
        *(of("load", name, _load(name), 30) for name in (*VARIANTS, "links")),
        *(of("score with", name, _score(name), 6, "store/") for name in VARIANTS),
        of("explain with", "hybrid", _command("explain hybrid store a3 --json"), 6, "store/"),
        of("report with", "hybrid", _report, 3, "store/"),
        of("score with", "links", _score("links", _PAIRS), 6, "store/", "pairs.csv"),
        Target(
            "resume", ("run/", "store/", "labels.csv"), resume, 4, frozenset({_USAGE, _MODEL}), writes=True, forge=forge
        ),
    )


def _of_tables() -> tuple[Target, ...]:
    of = partial(Target, tells=False, refusals=frozenset({_USAGE, _DATA}))
    columns = "--src payer --dst payee --time timestamp --features amount --categorical kind"
    new = "--time-unit s --out new --json"
    nodes = "--nodes nodes.csv --node-id account --node-features age"
    skip = "--bad-rows skip"
    ingest = partial(of, writes=True)
    return (
        of("settings", ("settings.toml",), _settings, 150),
        of("request", ("settings.toml", "store/", "labels.csv"), _request("labels.csv", "settings.toml"), 15),
        of("labels", ("labels.csv", "store/"), _request("labels.csv"), 50),
        of("labels parquet", ("labels.parquet", "store/"), _request("labels.parquet"), 50),
        of("accounts", ("accounts.csv", "store/", "gtea/"), _score("gtea", _SOME), 10),
        of("pairs", ("pairs.csv", "store/", "links/"), _score("links", _PAIRS), 10),
        ingest("ingest", ("events.csv",), _command(f"ingest events.csv {columns} {new}"), 3),
        ingest("ingest and skip", ("events.csv",), _command(f"ingest events.csv {columns} {skip} {new}"), 3),
        ingest("ingest tsv", ("events.tsv",), _command(f"ingest events.tsv {columns} {skip} {new}"), 2),
        ingest("ingest parquet", ("events.parquet",), _command(f"ingest events.parquet {columns} {skip} {new}"), 4),
        ingest("ingest jodie", ("jodie.csv",), _command(f"ingest jodie.csv --format jodie {skip} {new}"), 2),
        ingest("ingest snap", ("events.txt",), _command(f"ingest events.txt --format snap {skip} {new}"), 2),
        ingest("ingest nodes", ("nodes.csv", "events.csv"), _command(f"ingest events.csv {columns} {nodes} {new}"), 2),
        of("append events", ("more.csv", "store/"), _command("append store more.csv --json"), 3, writes=True),
    )


def _of_caches() -> tuple[Target, ...]:
    """What commands keep for themselves, to go on from."""
    state, parts = partial(forge_state, name="live.state"), partial(forge_parts, folder="job/")
    known, records = ("store/", "hybrid/"), frozenset({_USAGE, _DATA, _MODEL})
    return (
        Target("watch", ("live.state", *known, "more.csv"), _watch, 12, frozenset(), forge=state),
        Target("job", ("job/", *known), _resume_job, 6, frozenset({_USAGE, _STORE}), writes=True, forge=parts),
        Target(
            "ingest job",
            ("ingest-job/", "events.csv"),
            _resume_ingest,
            6,
            frozenset({_USAGE, _STORE}),
            writes=True,
            forge=partial(forge_parts, folder="ingest-job/"),
        ),
        Target("log", ("log/", "store/"), _log, 20, frozenset({_STORE}), writes=True),
        Target("trials", ("trials/",), _trials, 30, records, tells=False),
        Target("prepared", ("prepared/",), _prepared, 30, records, tells=False),
    )


def _of_databases() -> tuple[Target, ...]:
    of = partial(Target, tells=False, refusals=frozenset({_USAGE, _DATA}), writes=True)
    columns = "--src payer --dst payee --time timestamp --time-unit s --features amount --out new --json"
    since = "score gtea store --out scores.csv --since earlier"
    return (
        of("address", ("address.txt",), _address, 60, writes=False),
        of("ingest sqlite", ("events.sqlite",), _query(f"ingest sqlite:///events.sqlite {columns}"), 4),
        of("since parquet", ("earlier.parquet", "gtea/", "store/"), _command(f"{since}.parquet"), 5),
        of("since csv", ("earlier.csv", "gtea/", "store/"), _command(f"{since}.csv --since-as-of {EARLIER}"), 5),
        of(
            "watch lines",
            ("lines.jsonl", "gtea/", "store/"),
            _command("watch gtea store --once --events lines.jsonl"),
            8,
        ),
        of("monitor", ("labels.csv", "gtea/", "store/"), _command(_MONITOR), 1),
    )


_LINES = "watch gtea store --once --events lines.jsonl"
_MONITOR = f"monitor gtea store --days 2 --trained-as-of {EARLIER} --labels labels.csv --out monitor --json"


def _query(words: str) -> Run:
    return _command([*words.split(), "--query", "SELECT * FROM events"])
