"""What is done with a mutated input, what it needs, and how it may be refused."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from tests.fuzz.folders import Files
from tests.fuzz.forging import forge_model, forge_run, forge_store
from tests.fuzz.seeds import QUICK, VARIANTS

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
    return (*_of_stores(), *_of_models(), *_of_tables())


def _command(words: str, *results: str) -> Run:
    """Run a command. The result is what it wrote, or else what it printed."""

    def run(folder: Path) -> bytes:
        from gtea.cli.main import cli

        printed = io.StringIO()
        with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
            cli.main(words.split(), prog_name="gtea", standalone_mode=False)
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
