"""Whole inputs to start from: a store, models, a killed run and job, live scores, settings, tables of every kind."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import torch
from tests.training.kills import Killed, killed_after

from gtea.cluster.schedule import Then
from gtea.cluster.tasks import FileTask, run_task
from gtea.live.event_rows import EventRow
from gtea.runtime.progress import Progress
from gtea.scoring.options import Grain
from gtea.service.event_log import Entry, EventLog
from gtea.store.schema import Schema
from gtea.store.store import Store

_ACCOUNTS, _EVENTS, _FIRST_TIME, _HOUR = 40, 200, 1_700_000_000, 3600
QUICK = (
    "model.d_node=4", "model.d_edge=4", "model.d_mlp=4", "model.d_time=2", "sampling.fanout=3", "sampling.max_events=4",
    "sampling.batch_size=16", "train.epochs=2", "train.refit_trees=false",
)  # fmt: skip
HERE = "@HERE@"
"""Stands for the folder of an input in the description of a job, which has absolute paths."""
EARLIER = str(_FIRST_TIME + 150 * _HOUR)
GRAIN = Grain(8, 4)
VARIANTS = {"hybrid": "hybrid", "gtea": "gtea-l+t", "tree": "strong-tree"}
"""The folder of each model of accounts, and its variant."""
COLUMNS = {"src": "payer", "dst": "payee", "time": "timestamp", "features": ["amount"], "categorical": ["kind"]}
NODES = {"nodes": "nodes.csv", "node_id": "account", "node_features": ["age"]}


INGEST_JOB: dict[str, Any] = {**COLUMNS, "time_unit": "s", "out": "of-job", "work": Path("ingest-job"), "parts": 1}
MODIFIED = _FIRST_TIME * 10**9
"""When events.csv was written, which a job remembers."""


def make_seeds(folder: Path) -> None:
    """Fill a folder with one of everything. The same each time, but for dates and durations."""
    from gtea.ingestion.ingest import ingest
    from gtea.training.fit import train_task
    from gtea.training.loop import no_report
    from gtea.training.request import LinkRequest, NodeRequest

    _write_tables(folder)
    with contextlib.chdir(folder):
        ingest("events.csv", **COLUMNS, **NODES, time_unit="s", out="store")  # type: ignore[arg-type]
        for name, variant in VARIANTS.items():
            request = NodeRequest.read(Path("store"), "labels.csv", variant=variant, settings=QUICK)
            train_task(request.once(Path(name)), no_report)
        links = LinkRequest.read(Path("store"), variant="gtea-l+t", settings=QUICK)
        train_task(links.once(Path("links")), no_report)
        os.environ["GTEA_CHECKPOINT_SECONDS"] = "0"
        request = NodeRequest.read(Path("store"), "labels.csv", variant="hybrid", settings=QUICK)
        with contextlib.suppress(Killed):
            train_task(request.once(Path("run")), killed_after(3))
        _start_jobs()
        _watch()
        _write_log()
    assert (folder / "run" / "checkpoint.safetensors").exists()


class _Stopped:
    """Runs the tasks of a job, but not the last ones."""

    num_workers = 3

    def __init__(self, missing: int) -> None:
        self._missing = missing

    def run(self, tasks: Sequence[FileTask], folder: Path, progress: Progress, then: Then | None = None) -> bool:
        if then is not None:
            for task in tasks:
                run_task(folder, task)
            tasks = then()
        for task in tasks[: -self._missing]:
            run_task(folder, task)
        return False

    def on_each_node(self, task: FileTask, folder: Path) -> list[dict[str, Any]]:
        raise NotImplementedError


def _start_jobs() -> None:
    """Jobs in parts that were stopped before their end. Their paths are those of whoever resumes them."""
    from gtea.cluster.ingestion.ingest_parts import ingest_on
    from gtea.cluster.scoring.part_scores import score_accounts_on

    out, cpu = Path("scores-of-job.csv"), torch.device("cpu")
    score_accounts_on(_Stopped(1), Path("hybrid"), Path("store"), out, device=cpu, work=Path("job"), grain=GRAIN)
    os.utime("events.csv", ns=(MODIFIED, MODIFIED))
    ingest_on(_Stopped(3), "events.csv", **INGEST_JOB)
    for job in (Path("job/job.json"), Path("ingest-job/job.json")):
        job.write_text(job.read_text().replace(str(Path.cwd()), HERE))


def _write_log() -> None:
    """The log of a service, which was stopped."""
    Path("log").mkdir()
    log = EventLog(Path("log"), Schema.from_json(Store.open("store").manifest.schema))
    rows = [EventRow(f"a{i}", "new", (_FIRST_TIME + i) * 10**9, [i / 4], ["card"]) for i in range(9)]
    log.accept([Entry(row.src, b"", [row]) for row in rows])
    log._run("PRAGMA wal_checkpoint(TRUNCATE)")
    log.close()


def _watch() -> None:
    """The state of live scores after half of the new events; and earlier scores."""
    from gtea.live.event_lines import EventLines
    from gtea.live.growing_input import GrowingInput
    from gtea.live.live_scorer import LiveScorer
    from gtea.scoring.table import score_accounts

    scorer, source = LiveScorer("hybrid", "store", state="live.state"), GrowingInput(Path("more.csv"), once=True)
    lines = EventLines(scorer.reader)
    numbered = next(batch for batch in source.batches(11, lambda: False) if batch)
    scorer.update_records([row for _, _, row in lines.read(numbered)[0]])
    scorer.save(source.position)
    for name in ("earlier.parquet", "earlier.csv"):
        score_accounts(Path("hybrid"), Path("store"), Path(name), as_of=EARLIER, device=torch.device("cpu"))


def _write_tables(folder: Path) -> None:
    events = _events()
    pyarrow.csv.write_csv(events, folder / "events.csv", pyarrow.csv.WriteOptions(quoting_style="needed"))
    pyarrow.csv.write_csv(events, folder / "events.tsv", pyarrow.csv.WriteOptions(delimiter="\t"))
    pq.write_table(events, folder / "events.parquet")
    rows = list(zip(*(events.column(name).to_pylist() for name in events.column_names), strict=True))
    (folder / "events.txt").write_text("".join(f"{src} {dst} {time}\n" for src, dst, time, *_ in rows))
    jodie = [f"{src[1:]},{dst[1:]},{time}.0,0,{amount},1.5\n" for src, dst, time, amount, _ in rows]
    (folder / "jodie.csv").write_text("".join(["user_id,item_id,timestamp,state_label,features\n", *jodie]))
    later = [f"a{i},new{i},{_FIRST_TIME + (_EVENTS + i) * _HOUR},{i}.5,cash\n" for i in range(20)]
    (folder / "more.csv").write_text("".join(["payer,payee,timestamp,amount,kind\n", *later]))
    records = [json.dumps(dict(zip(events.column_names, row, strict=True))) for row in rows[:20]]
    (folder / "lines.jsonl").write_text("\n".join(records))
    with contextlib.closing(sqlite3.connect(folder / "events.sqlite")) as base, base:
        base.execute(f"CREATE TABLE events ({', '.join(events.column_names)})")
        base.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?)", rows)
    (folder / "address.txt").write_text("postgresql://me:se%20cret@host.example:5432/bank?sslmode=require")
    (folder / "trials").mkdir()
    trial = {"number": 1, "settings": {"train.lr": 0.1}, "state": "finished", "curve": [0.5, 0.25], "seconds": 1.5}
    (folder / "trials" / "0001.json").write_text(json.dumps({**trial, "reason": None}))
    (folder / "prepared").mkdir()
    (folder / "prepared" / "dataset.json").write_text(json.dumps({"name": "x", "task": "nodes", "positive": None}))
    accounts = [f"a{i}" for i in range(_ACCOUNTS)]
    (folder / "nodes.csv").write_text("".join(["account,age\n", *(f"{a},{i}\n" for i, a in enumerate(accounts))]))
    labels = pa.table({
        "account": accounts,
        "label": ["bad" if i % 3 == 0 else "ok" for i in range(_ACCOUNTS)],
        "known_at": [_FIRST_TIME + i for i in range(_ACCOUNTS)],
    })  # fmt: skip
    pyarrow.csv.write_csv(labels, folder / "labels.csv", pyarrow.csv.WriteOptions(quoting_style="needed"))
    pq.write_table(labels, folder / "labels.parquet")
    (folder / "accounts.csv").write_text("account\n" + "".join(f"{a}\n" for a in accounts[:9]))
    (folder / "pairs.csv").write_text("src,dst\n" + "".join(f"{accounts[i]},{accounts[i + 1]}\n" for i in range(9)))
    (folder / "settings.toml").write_text(_SETTINGS)


def _events() -> pa.Table:
    """Accounts appear one after the other, so that a split by time has something in each part."""
    generator = np.random.default_rng(0)
    number = np.arange(_EVENTS)
    src = np.minimum(_ACCOUNTS - 1, number * _ACCOUNTS // _EVENTS + generator.integers(0, 4, _EVENTS))
    dst = (src + generator.integers(1, 12, _EVENTS)) % np.maximum(src, 2)
    return pa.table({
        "payer": [f"a{i}" for i in src],
        "payee": [f"a{i}" for i in dst],
        "timestamp": _FIRST_TIME + number * _HOUR,
        "amount": generator.integers(1, 1000, _EVENTS) / 100,
        "kind": [["card", "cash"][i] for i in generator.integers(0, 2, _EVENTS)],
    })  # fmt: skip


_SETTINGS = """\
[model]
d_node = 8
num_heads = 2
dropout = 0.1
[features]
nodes = ["given", "statistics"]
recency = true
time_origin = "calendar"
[sampling]
fanout = 4
strategy = "recent"
[train]
lr = 0.01
epochs = 2
metric = "roc_auc"
schedule = "cosine"
seed = 7
[split]
protocol = "temporal"
fractions = [0.5, 0.25, 0.25]
train_windows = 3
"""
