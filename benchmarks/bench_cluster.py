"""What do exact scores in parts cost, compared with one process? Processor time, bytes between parts, memory.

    python benchmarks/bench_cluster.py [--folder FOLDER] [--json out.json] [--nodes 750000] [--edges 1300000]
                                       [--parts 1,2,4,16] [--workers 2] [--rounds 1]

The store and the untrained GTEA_L+T are those of ``bench_scoring.py``; the attention of an untrained model discards
almost no neighbour, which makes the halo as large as it can be. One process (``gtea score``, the rival) and a pool of
two workers with each number of parts take turns. Every table must have the same bytes.

- cpu_s: user and system time of the process and all its workers. ``imports_cpu_s`` is what a process needs to import
  what a task imports, and is paid once per process; ``without_imports_ratio`` leaves it out on both sides.
- halo: how many rows of other parts' accounts the parts need in a layer, in units of all active accounts; sent_bytes:
  what was sent for it.
- largest_task_gb: the largest peak of a worker's resident memory, mapped pages of the store included.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from bench_scoring import prepare
from gtea.cluster.local_pool import LocalPool
from gtea.cluster.schedule import Then
from gtea.cluster.scoring.job import read_plan
from gtea.cluster.scoring.part_scores import score_accounts_on
from gtea.cluster.tasks import FileTask, made_by
from gtea.runtime.progress import Progress
from gtea.scoring.table import score_accounts
from resident import resident

_CPU = torch.device("cpu")


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
        "largest_task_gb": round(max(peaks.values()) / 1e9, 2),
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
        options.folder = options.folder or Path(temporary)
        store = prepare(options.folder, options.nodes, options.edges)
        rounds = [_round(options) for _ in range(options.rounds)]
        results = {
            "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "torch": torch.__version__},
            "graph": {"accounts": store.num_nodes, "pairs": store.num_edges, "events": store.num_events},
            "load_average": os.getloadavg(),
            "rounds": rounds,
        }
    print(json.dumps(results, indent=2))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


def _round(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Each way once."""
    imports = _process(options, "imports")
    found = list[dict[str, Any]]()
    for way in ("one", *options.parts.split(",")):
        made = _process(options, way)
        one = found[0] if found else made
        made["ratio"] = round(made["cpu_s"] / one["cpu_s"], 3)
        processes = made.get("processes", 1)
        rest = made["cpu_s"] - processes * imports["cpu_s"]
        made["without_imports_ratio"] = round(rest / (one["cpu_s"] - imports["cpu_s"]), 3)
        made["imports_cpu_s"] = round(processes * imports["cpu_s"], 2)
        made["same_bytes"] = made["sha256"] == one["sha256"]
        print(way, made, file=sys.stderr, flush=True)
        found.append(made)
    return found


def _process(options: argparse.Namespace, way: str) -> dict[str, Any]:
    words = [sys.executable, __file__, "--folder", options.folder, "--alone", way, "--workers", options.workers]
    done = subprocess.run([*map(str, words)], stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _alone(options: argparse.Namespace) -> dict[str, Any]:
    """One way, in a process of its own."""
    if options.alone == "imports":
        return {"cpu_s": _cpu_seconds()}
    model, store, out = (
        options.folder / "model",
        options.folder / "payments.store",
        options.folder / f"scores-{options.alone}.parquet",
    )
    started, found = time.perf_counter(), dict[str, Any]()
    if options.alone == "one":
        score_accounts(model, store, out, device=_CPU)
        found = {"largest_task_gb": round(resident("VmHWM") / 1e9, 2)}
    else:
        pool = MeasuredPool(options.workers)
        score_accounts_on(pool, model, store, out, device=_CPU, parts=int(options.alone))
        found = {**pool.measured, "processes": 1 + options.workers}
    sha256 = hashlib.sha256(out.read_bytes()).hexdigest()
    return {
        "way": options.alone,
        "seconds": time.perf_counter() - started,
        "cpu_s": _cpu_seconds(),
        "sha256": sha256,
        **found,
    }


def _cpu_seconds() -> float:
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return round(sum(sum(resource.getrusage(each)[:2]) for each in who), 2)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--nodes", type=int, default=750_000)
    parser.add_argument("--edges", type=int, default=1_300_000)
    parser.add_argument("--parts", default="1,2,4,16")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
