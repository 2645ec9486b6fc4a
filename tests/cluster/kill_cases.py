"""Commands in parts that are disturbed in the middle, and what each must have made in the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from tests.cluster.conftest import _save as save_untrained
from tests.cluster.ingestion.conftest import content
from tests.experiments.tune.conftest import QUICK

from gtea.datasets.payments import PaymentsSpec, write_payments
from gtea.experiments.tune.search import Search, tune
from gtea.experiments.tune.space import read_space
from gtea.ingestion.ingest import ingest
from gtea.scoring.table import score_accounts
from gtea.training.request import NodeRequest

_ACCOUNTS, _FILES, _EVENTS = 24_000, 6, 20_000
_SPACE = '[model]\nattention = ["sparsemax", "softmax"]\n[train]\nlr = [0.001, 0.003, 0.01, 0.03]\n'


@dataclass(frozen=True)
class KillCase:
    """A command of gtea that works in parts."""

    name: str
    words: list[str]
    """Without ``--on`` and ``--out``."""
    first: str
    """A worker is killed when there is such a file ..."""
    second: str
    """... and a machine when there is such a one."""
    expected: Any
    left: Callable[[Path], Any]
    """What it has made, to compare."""

    def out(self, folder: Path) -> Path:
        """Where it puts its result."""
        return folder / f"{self.name}{'.parquet' if self.name == 'score' else ''}"

    def command(self, on: str, folder: Path) -> list[str]:
        """The words after ``gtea``."""
        return [*self.words, "--out", str(self.out(folder)), "--on", on]

    def has_made(self, pattern: str, folder: Path) -> bool:
        """Whether there is such a file of a task."""
        out = self.out(folder)
        return any(out.with_name(f"{out.name}.parts").glob(pattern))


def kill_cases(folder: Path) -> Mapping[str, KillCase]:
    """Score, ingest and tune, with what one process makes of the same."""
    files = _event_files(folder)
    columns: dict[str, Any] = {"src": "src", "dst": "dst", "time": "time", "features": ["amount"], "time_unit": "step"}
    store = ingest(files, out=folder / "one.store", **columns)
    save_untrained(store, folder / "model", "gtea-l", {})
    score_accounts(folder / "model", store.path, folder / "one.parquet", device=torch.device("cpu"))
    words = ["--src", "src", "--dst", "dst", "--time", "time", "--features", "amount", "--time-unit", "step"]
    score = ["score", str(folder / "model"), str(store.path), "--parts", "6", "--device", "cpu"]
    return {
        "score": KillCase(
            "score", score, "encode.*.part", "renew-0.*.part", (folder / "one.parquet").read_bytes(), Path.read_bytes
        ),
        "ingest": KillCase(
            "ingest", ["ingest", *map(str, files), *words, "--parts", "4", "--memory", "400MB"],
            "read.*.part", "scatter.*.part", content(store.path), content,
        ),
        "tune": _search(folder),
    }  # fmt: skip


def _event_files(folder: Path) -> list[Path]:
    rng, paths = np.random.default_rng(0), []
    for number in range(_FILES):
        src = (_ACCOUNTS * rng.random(_EVENTS) ** 2).astype(np.int64)
        dst = rng.integers(0, _ACCOUNTS, _EVENTS)
        table = {"src": src, "dst": dst, "time": rng.integers(0, 1000, _EVENTS), "amount": rng.lognormal(3, 2, _EVENTS)}
        paths.append(folder / f"events-{number}.parquet")
        pq.write_table(pa.table(table), paths[-1])
    return paths


def _search(folder: Path) -> KillCase:
    events, labels = write_payments(PaymentsSpec(accounts=100, events=1000, illicit_share=0.4), folder)
    made = ingest(
        events,
        src="payer",
        dst="payee",
        time="timestamp",
        features=["amount"],
        time_unit="s",
        out=folder / "tiny.store",
    )
    (folder / "space.toml").write_text(_SPACE)
    settings = [*QUICK, "model.dropout=0.1"]
    request = NodeRequest.read(made.path, labels, settings=settings, device="cpu")
    space = read_space(folder / "space.toml", request.config)
    tune(request, Search("grid", space, 8, 0), folder / "one-tune", lambda status: None)
    words = ["tune", str(made.path), "--labels", str(labels), "--search", "grid", "--no-prune", "--device", "cpu"]
    words += ["--space", str(folder / "space.toml"), *(word for each in settings for word in ("--set", each))]
    return KillCase("tune", words, "trial.*.part", "trial.[3-8].part", _trials(folder / "one-tune"), _trials)


def _trials(out: Path) -> dict[str, Any]:
    """All but how long it took."""
    trials = [json.loads(path.read_text()) for path in sorted((out / "trials").iterdir())]
    return {"trials": [{**trial, "seconds": 0} for trial in trials], "best": (out / "best.toml").read_bytes()}
