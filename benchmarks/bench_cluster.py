"""What do exact scores in parts cost, compared with one process? Processor time, bytes between parts, memory.

    python benchmarks/bench_cluster.py [--folder FOLDER] [--json out.json] [--scale 64] [--parts 1,2,4,16] [--workers 2]
                                       [--events 34] [--way 4]

The graphs are those of ``bench_scale.py``: with ``--scale 64`` 750,000 accounts, 1.35 M pairs and 46 M events. The
GTEA_L+T is untrained: its attention discards almost no neighbour, which makes the halo as large as it can be. One
process with one thread (``gtea score``, the rival) and a pool of two workers with each number of parts take turns.
Every table must have the same bytes. ``--way one`` or ``--way 4`` runs one of them alone; with ``--json``, results are
kept by way, so that a machine that is not quiet for long can be asked for one at a time.

- cpu_s: user and system time of the process and all its workers, without that of the thread that watches memory.
- imports_cpu_s: of this, what its processes need to import what they import, paid once per process.
  ``without_imports_ratio`` leaves it out on both sides. Loading compiled code is not left out.
- halo: how many rows of other parts' accounts the parts need in a layer, in units of all active accounts; sent_bytes:
  what was sent for it in each layer, to be compared with halo_bytes_per_layer.
- largest_task_gb: the largest peak of a worker's resident memory, with the pages of libraries and of the store, which
  all processes share; private_gb: the largest peak of what it shares with nobody.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench_scale import Size, write_events
from bench_scoring import save_untrained
from gtea.cluster.local_pool import LocalPool
from gtea.cluster.schedule import Then
from gtea.cluster.scoring.job import read_plan
from gtea.cluster.scoring.part_scores import score_accounts_on
from gtea.cluster.tasks import FileTask, made_by
from gtea.config import RunConfig
from gtea.ingestion.ingest import ingest
from gtea.runtime.progress import Progress
from gtea.scoring.table import score_accounts
from gtea.store.graph import graph_of
from gtea.store.histories import count_kept_events
from gtea.store.store import Store
from interleave import machine
from resident import resident, watched

_CPU = torch.device("cpu")


@dataclass(frozen=True)
class OtherHistories(Size):
    """The same accounts and pairs with histories of another length."""

    events_per_pair: int

    @property
    def events(self) -> int:
        """Exact number of events."""
        return self.edges * self.events_per_pair


class MeasuredPool(LocalPool):
    """A pool that looks at the files of the tasks before they are deleted."""

    measured: dict[str, Any]

    def run(self, tasks: Sequence[FileTask], folder: Path, progress: Progress, then: Then | None = None) -> bool:
        """Run all tasks, then add up what they cost and sent."""
        super().run(tasks, folder, progress, then)
        self.measured = _measured(folder, {path.stem: made_by(folder, path.stem) for path in folder.glob("*.part")})
        return True


def _measured(folder: Path, files: dict[str, Any]) -> dict[str, Any]:
    plan = read_plan(folder)
    halo = sum(file.facts["halo"] for name, file in files.items() if name.startswith(("encode", "embed")))
    shares = {name: file for name, file in files.items() if name.startswith("share-")}
    layers = sorted({name.split(".")[0] for name in shares})
    sent = {each: sum(f.facts["sent_bytes"] for n, f in shares.items() if n.startswith(each)) for each in layers}
    width = next(iter(shares.values())).facts["width"]
    peaks = {name: file.facts["cost"]["peak_bytes_of_process"] for name, file in files.items()}
    stages: dict[str, float] = {}
    for name, file in files.items():
        stage = name.split(".")[0]
        stages[stage] = round(stages.get(stage, 0.0) + file.facts["cost"]["processor_seconds"], 2)
    return {
        "parts": plan.num_parts,
        "halo_rows_per_account": round(halo / plan.num_active, 3),
        "halo_bytes_per_layer": halo * width * 4,
        "sent_bytes": sent,
        "largest_task": max(peaks, key=lambda name: peaks[name]),
        "cpu_s_by_stage": stages,
    }


def main() -> None:
    """Build the data, take turns, print the results."""
    options = _options()
    if options.alone is not None:
        print(json.dumps(_alone(options)))
        return
    with tempfile.TemporaryDirectory(prefix="gtea-") as temporary:
        folder = options.folder = options.folder or Path(temporary)
        size = Size(options.scale)
        store = prepare(folder, size if options.events is None else OtherHistories(options.scale, options.events))
        found: dict[str, Any] = {"ways": {}}
        if options.json and options.json.exists():
            found = json.loads(options.json.read_text())
        results = {"machine": machine(), "graph": describe(store), "ways": found["ways"]}
        for way in [options.way] if options.way else ["one", *options.parts.split(",")]:
            results["ways"][way] = _process(options, way) | {"load_average": round(os.getloadavg()[0], 1)}
            print(way, results["ways"][way], file=sys.stderr, flush=True)
            compare(results["ways"])
            if options.json:
                options.json.write_text(json.dumps(results, indent=2) + "\n")
    print(json.dumps(results, indent=2))


def prepare(folder: Path, size: Size) -> Store:
    """Create the store and the model unless they exist."""
    path, events = folder / "payments.store", folder / "payments.parquet"
    if not (path / "manifest.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_events(size, events)
        ingest(events, src="src", dst="dst", time="time", features=["amount"], time_unit="s", out=path)
        events.unlink()
    store = Store.open(path)
    if not (folder / "model" / "manifest.json").exists():
        save_untrained(store, folder / "model")
    return store


def describe(store: Store) -> dict[str, Any]:
    """The size of a graph, and how many partners its accounts have."""
    view, at_most = store.as_of(), RunConfig().sampling.max_events
    start, stop = view.slot_ranges(np.arange(store.num_nodes))
    partners, accounts = np.unique(stop - start, return_counts=True)
    kept = count_kept_events(graph_of(view), np.arange(store.num_edges), at_most)
    return {
        "accounts": store.num_nodes,
        "pairs": store.num_edges,
        "events": store.num_events,
        "store_bytes": sum(each.stat().st_size for each in store.path.rglob("*") if each.is_file()),
        "encoded_events": 2 * int(kept.sum()),
        "accounts_by_partners": dict(zip(partners.tolist(), accounts.tolist(), strict=True)),
    }


def compare(ways: dict[str, dict[str, Any]]) -> None:
    """Add what each way costs in units of one process."""
    if "one" not in ways:
        return
    one = ways["one"]
    for made in ways.values():
        made["ratio"] = round(made["cpu_s"] / one["cpu_s"], 3)
        rest, rest_of_one = (each["cpu_s"] - each["imports_cpu_s"] for each in (made, one))
        made["without_imports_ratio"] = round(rest / rest_of_one, 3)
        made["same_bytes"] = made["sha256"] == one["sha256"]


def _process(options: argparse.Namespace, way: str) -> dict[str, Any]:
    words = [sys.executable, __file__, "--folder", options.folder, "--alone", way, "--workers", options.workers]
    done = subprocess.run([*map(str, words)], stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _alone(options: argparse.Namespace) -> dict[str, Any]:
    """One way, in a process of its own."""
    torch.set_num_threads(1)
    imports, way = _cpu_seconds(), options.alone
    folder, out = options.folder, options.folder / f"scores-{way}.parquet"
    started, found = time.perf_counter(), dict[str, Any]()
    with watched(children=way != "one") as peak:
        if way == "one":
            score_accounts(folder / "model", folder / "payments.store", out, device=_CPU)
        else:
            pool = MeasuredPool(options.workers)
            score_accounts_on(pool, folder / "model", folder / "payments.store", out, device=_CPU, parts=int(way))
            found = pool.measured
    seconds, cpu = time.perf_counter() - started, _cpu_seconds() - peak.watching
    if way != "one":
        imports += min(options.workers, int(way)) * _imports_of_worker()
    return {
        "seconds": round(seconds, 1),
        "cpu_s": round(cpu, 2),
        "imports_cpu_s": round(imports, 2),
        "largest_task_gb": round((resident("VmHWM") if way == "one" else peak.resident) / 1e9, 3),
        "private_gb": round(peak.private / 1e9, 3),
        **found,
        "sha256": hashlib.sha256(out.read_bytes()).hexdigest(),
    }


def _imports_of_worker() -> float:
    """What a worker needs to import what its tasks import."""
    before = _cpu_seconds()
    words = "import gtea.cluster.task_worker, gtea.cluster.scoring.encode, gtea.cluster.scoring.answer"
    subprocess.run([sys.executable, "-P", "-c", words], check=True)
    return _cpu_seconds() - before


def _cpu_seconds() -> float:
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return round(sum(sum(resource.getrusage(each)[:2]) for each in who), 2)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--scale", type=int, default=64, help="the size of the graph, as in bench_scale.py")
    parser.add_argument("--parts", default="1,2,4,16")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--events", type=int, help="events per pair; by default those of bench_scale.py, 34")
    parser.add_argument("--way", help="run one way alone: one, or a number of parts")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
