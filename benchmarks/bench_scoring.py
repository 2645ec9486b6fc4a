"""How fast are all accounts scored exactly, against sampling 10x10 neighbours of each, and what does one account cost?

    python benchmarks/bench_scoring.py [--folder FOLDER] [--json out.json] [--nodes 1300000] [--edges 2200000]

A store is made on disk, once a folder, and an untrained GTEA_L+T; its attention discards next to nothing, which is the
dear case. The ways take turns, so that a busy machine slows all of them alike, and the median counts; exact scoring, of
which memory is a question, too, runs in a process of its own, after imports. Processor time is told, too: on a shared
machine it is the steadier of the two.

- exact: all accounts, from opening the store to probabilities.
- sampled: today's batches of 64, and larger ones. A part of the accounts is scored twice, and the second time counts,
  when the features of all that they meet are known; multiplied up to all accounts. To it comes describing all accounts
  once, as exact scoring does it.
- one account: open the store, score one of middling degree with all its neighbours and their neighbours.

Before the clock starts, each has scored a store of two payments, or that part: what is loaded late is there.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from gtea.config import RunConfig
from gtea.features.node_features import NodeFeatures
from gtea.features.preprocessing import input_spec, preprocessing_for
from gtea.ingestion.ingest import ingest
from gtea.models.gtea import GTEANodeClassifier
from gtea.models.model_folder import SavedModel, save_model
from gtea.sampling.collate import collator_for
from gtea.scoring.exact import describe_nodes
from gtea.scoring.options import ScoringOptions
from gtea.scoring.sampled import NodeScorer
from gtea.scoring.scorer import NodeModel
from gtea.scoring.table import score_accounts
from gtea.store.memory import store_in_memory
from gtea.store.store import Store
from resident import resident

_YEAR = 365 * 86_400
_CPU = torch.device("cpu")


def main() -> None:
    """Build, measure, report."""
    options = _options()
    if options.exact_alone:
        print(json.dumps(score_exactly(options)))
        return
    with tempfile.TemporaryDirectory(prefix="gtea-") as temporary:
        options.folder = options.folder or Path(temporary)
        figures = report(options)
    print(json.dumps(figures, indent=2))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


def report(options: argparse.Namespace) -> dict[str, Any]:
    """All figures, and the circumstances they were taken in."""
    store = prepare(options.folder, options.nodes, options.edges)
    return {
        "machine": {
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "torch": torch.__version__,
            "threads": torch.get_num_threads(),
        },
        "load_average_before": os.getloadavg()[0],
        "graph": {"nodes": store.num_nodes, "edges": store.num_edges, "events": store.num_events},
        **measure(options),
        "load_average_after": os.getloadavg()[0],
    }


def prepare(folder: Path, num_nodes: int, num_edges: int) -> Store:
    """The store and the model, made unless they are there."""
    path = folder / "payments.store"
    if not (path / "manifest.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(payments(num_nodes, num_edges), folder / "payments.parquet")
        ingest(
            folder / "payments.parquet", src="src", dst="dst", time="time", features=["amount"], time_unit="s", out=path
        )
    store = Store.open(path)
    if not (folder / "model" / "manifest.json").exists():
        save_untrained(store, folder / "model")
    return store


def payments(num_nodes: int, num_edges: int) -> pa.Table:
    """Pairs with heavy-tailed ends; three events a history on average, some of hundreds."""
    generator = np.random.default_rng(0)
    popular = (num_nodes * generator.random(num_edges) ** 3).astype(np.int64)
    others = generator.permutation(np.arange(num_edges) % num_nodes)
    lengths = np.minimum(0.57 * generator.random(num_edges) ** (-1 / 1.2) + 1, 500).astype(np.int64)
    src, dst = np.repeat(popular, lengths), np.repeat(others, lengths)
    back = generator.random(len(src)) < 0.3
    src, dst = np.where(back, dst, src), np.where(back, src, dst)
    names = pa.array([f"0x{number:040x}" for number in generator.permutation(num_nodes)])
    return pa.table({
        "src": names.take(pa.array(src)), "dst": names.take(pa.array(dst)),
        "time": 1_600_000_000 + generator.integers(0, _YEAR, len(src)), "amount": generator.lognormal(4, 2, len(src)),
    })  # fmt: skip


def save_untrained(store: Store, folder: Path) -> None:
    """GTEA_L+T at the sizes of the configuration's defaults: two layers, 64 everywhere."""
    config, cut = RunConfig(), store.as_of().cut
    preprocessing = preprocessing_for(store, cut, config)
    spec = input_spec(preprocessing)
    network = GTEANodeClassifier(config.model, spec, 2, seed=0)
    described = {
        "run": config.to_json(), "task": "nodes", "classes": ["illicit", "normal"], "positive": "illicit",
        "input": vars(spec),
    }  # fmt: skip
    save_model(folder, SavedModel(network.state_dict(), described, preprocessing.to_json(), {}, {}), "Untrained.\n")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Every method in turn; ratios by the clock and by processor time."""
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in METHODS}
    for _ in range(options.rounds):
        for name, method in METHODS.items():
            rounds[name].append(method(options))
            print(name, rounds[name][-1], file=sys.stderr, flush=True)
    exact, sampled, one = rounds["exact"], rounds["sampled"], rounds["one_account"]
    figures: dict[str, Any] = {"exact_peak_gb": max(result["peak_gb"] for result in exact)}
    for unit, name in (("seconds", "s"), ("cpu_s", "cpu_s")):
        quick = statistics.median(result[unit] for result in exact)
        slow = {size: statistics.median(result[unit][size] for result in sampled) for size in sampled[0][unit]}
        figures[f"exact_{name}"] = quick
        figures[f"sampled_{name}"] = slow
        figures[f"exact_vs_sampled_{name}"] = {size: round(value / quick, 1) for size, value in slow.items()}
    # By the clock, which is what a user waits by; where others keep the machine busy, look at processor time, too.
    by_clock = figures["exact_vs_sampled_s"]
    figures["exact_vs_sampled"] = by_clock[str(RunConfig().sampling.batch_size)]
    figures["exact_vs_best_sampled"] = min(by_clock.values())
    figures["one_account_s"] = statistics.median(result["seconds"] for result in one)
    return {**figures, "rounds": rounds}


def score_exactly_apart(options: argparse.Namespace) -> dict[str, Any]:
    """All accounts, in a process that does nothing else."""
    words = [sys.executable, __file__, "--exact-alone", "--folder", str(options.folder)]
    result: dict[str, Any] = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)
    return result


def score_exactly(options: argparse.Namespace) -> dict[str, Any]:
    """All accounts, from opening the store to probabilities."""
    stages: dict[str, float] = {}

    def listen(stage: str, done: float | None) -> None:
        stages.setdefault(stage, time.perf_counter() - start)

    _load_all(options)
    start, cpu_start = time.perf_counter(), time.process_time()
    store, model = Store.open(options.folder / "payments.store"), NodeModel.open(options.folder / "model", _CPU)
    model.probabilities(store, store.as_of().cut, np.arange(store.num_nodes), ScoringOptions(progress=listen))
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    starts = {stage: round(begun, 2) for stage, begun in stages.items()}
    peak_gb = round(resident("VmHWM") / 2**30, 2)
    return {"seconds": round(seconds, 2), "cpu_s": round(cpu, 2), "peak_gb": peak_gb, "stage_starts_s": starts}


def score_sampled(options: argparse.Namespace) -> dict[str, Any]:
    """A part of the accounts, multiplied up, by batch size."""
    store, model = Store.open(options.folder / "payments.store"), NodeModel.open(options.folder / "model", _CPU)
    nodes = np.random.default_rng(1).permutation(store.num_nodes)[: options.part]
    collator = collator_for(store, store.as_of().cut, model.preprocessing, model.config)
    figures: dict[str, dict[str, float]] = {"seconds": {}, "cpu_s": {}}
    described, cpu_described = _describe_all(store, model)
    for batch_size in (64, 512):
        scorer = NodeScorer(model.network, collator, batch_size, _CPU)
        scorer.probabilities(nodes)
        start, cpu_start = time.perf_counter(), time.process_time()
        scorer.probabilities(nodes)
        spent, cpu = time.perf_counter() - start, time.process_time() - cpu_start
        share = len(nodes) / store.num_nodes
        figures["seconds"][str(batch_size)] = round(described + spent / share, 1)
        figures["cpu_s"][str(batch_size)] = round(cpu_described + cpu / share, 1)
    return {**figures, "described_s": round(described, 2), "accounts_scored": len(nodes)}


def _describe_all(store: Store, model: NodeModel) -> tuple[float, float]:
    """What the features of all accounts cost, by the clock and in processor time."""
    features = NodeFeatures(store.as_of(), model.preprocessing.nodes)
    features.compute(np.arange(10))
    start, cpu_start = time.perf_counter(), time.process_time()
    describe_nodes(features, np.arange(store.num_nodes))
    return time.perf_counter() - start, time.process_time() - cpu_start


def score_one_account(options: argparse.Namespace) -> dict[str, Any]:
    """Open, score one account, write the table."""
    opened = Store.open(options.folder / "payments.store")
    degrees = np.diff(opened.arrays.node_offset)
    account = opened.account(int(np.flatnonzero(degrees == int(degrees.mean()) + 1)[0]))
    asked, out = pa.table({"account": [account]}), options.folder / "one.csv"
    _load_all(options)
    start, cpu_start = time.perf_counter(), time.process_time()
    score_accounts(options.folder / "model", opened.path, out, accounts=asked, device=_CPU)
    spent, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    return {"seconds": round(spent, 3), "cpu_s": round(cpu, 3)}


def _load_all(options: argparse.Namespace) -> None:
    store = store_in_memory(["a", "a"], ["b", "b"], [1, 2], features={"amount": [1.0, 2.0]})
    NodeModel.open(options.folder / "model", _CPU).probabilities(store, 10, np.arange(2))


METHODS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "one_account": score_one_account,
    "exact": score_exactly_apart,
    "sampled": score_sampled,
}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where store and model are kept between runs; default: nowhere")
    parser.add_argument("--nodes", type=int, default=1_300_000)
    parser.add_argument("--edges", type=int, default=2_200_000)
    parser.add_argument("--part", type=int, default=10_000, help="accounts that are scored by sampling")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--exact-alone", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
