"""Whole inputs to start from: a small store, models, a killed run, settings, and tables of every kind."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from tests.training.kills import Killed, killed_after

_ACCOUNTS, _EVENTS, _FIRST_TIME, _HOUR = 40, 200, 1_700_000_000, 3600
QUICK = (
    "model.d_node=4", "model.d_edge=4", "model.d_mlp=4", "model.d_time=2", "sampling.fanout=3", "sampling.max_events=4",
    "sampling.batch_size=16", "train.epochs=2", "train.refit_trees=false",
)  # fmt: skip
VARIANTS = {"hybrid": "hybrid", "gtea": "gtea-l+t", "tree": "strong-tree"}
"""The folder of each model of accounts, and its variant."""
COLUMNS = {"src": "payer", "dst": "payee", "time": "timestamp", "features": ["amount"], "categorical": ["kind"]}
NODES = {"nodes": "nodes.csv", "node_id": "account", "node_features": ["age"]}


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
    assert (folder / "run" / "checkpoint.safetensors").exists()


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
