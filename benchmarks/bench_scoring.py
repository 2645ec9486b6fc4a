"""How fast are exact scores of all accounts, compared with sampling 10 x 10 neighbours? What does one account cost?

    python benchmarks/bench_scoring.py [--folder FOLDER] [--json out.json] [--nodes 1300000] [--edges 2200000]

Builds a store and an untrained GTEA_L+T on disk, unless the folder has them. The attention of an untrained model
discards almost no neighbour, which is the most expensive case. The methods alternate, so that load from other
processes affects all of them alike, and the median over rounds counts. Processor time is reported too; on a shared
machine it is steadier.

- exact: score all accounts, from opening the store to probabilities, in its own process (so that its peak memory is
  its own).
- sampled (the rival): batches of 64 and of 512. A part of the accounts is scored twice; the second pass, with cached
  account features, is timed and extrapolated to all accounts. The time to compute the features of all accounts is
  added.
- one account: open the store and score one account of average degree with all neighbours within two hops.

Lazy loading happens before the timing starts.
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
from gtea.features.preprocessing import input_spec, preprocessing_for
from gtea.ingestion.ingest import ingest
from gtea.models.gtea import GTEANodeClassifier
from gtea.models.model_folder import SavedModel, save_model
from gtea.sampling.collate import collator_for
from gtea.scoring.descriptions import Descriptions
from gtea.scoring.options import ScoringOptions
from gtea.scoring.sampled import NodeScorer
from gtea.scoring.scorer import NodeModel
from gtea.scoring.table import score_accounts
from gtea.store.memory import store_in_memory
from gtea.store.store import Store
from resident import resident

_YEAR = 365 * 86_400
_CPU = torch.device("cpu")
_PART = {"accounts": 0, "classes": {"illicit": 0, "normal": 0}}
METRICS: dict[str, Any] = {
    "validation": {"accuracy": 0.5, "macro_f1": 0.5, "average_precision": 0.5, "prevalence": 0.5},
    "best_epoch": 0, "epochs": 1, "split": {"split": "none", "train": _PART, "validation": _PART},
}  # fmt: skip
FACTS: dict[str, Any] = {
    "data_digest": "", "seed": 0, "threads": 1, "versions": {"gtea": "0", "torch": "0"}, "created": "now",
    "training_seconds": 0.0,
}  # fmt: skip
"""What a model folder says of a training, for a model that was never trained."""


def main() -> None:
    """Build the data, run the benchmark, print the results."""
    options = _options()
    if options.exact_alone:
        print(json.dumps(score_exactly(options)))
        return
    with tempfile.TemporaryDirectory(prefix="gtea-") as temporary:
        options.folder = options.folder or Path(temporary)
        results = report(options)
    print(json.dumps(results, indent=2))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


def report(options: argparse.Namespace) -> dict[str, Any]:
    """All results, with a description of the machine and its load."""
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
    """Create the store and the model unless they exist."""
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
    """Pairs with heavy-tailed degrees; three events per history on average, hundreds in a few."""
    generator = np.random.default_rng(0)
    popular = (num_nodes * generator.random(num_edges) ** 3).astype(np.int64)
    others = generator.permutation(np.arange(num_edges) % num_nodes)
    lengths = np.minimum(0.57 * generator.random(num_edges) ** (-1 / 1.2) + 1, 500).astype(np.int64)
    src, dst = np.repeat(popular, lengths), np.repeat(others, lengths)
    reverse = generator.random(len(src)) < 0.3
    src, dst = np.where(reverse, dst, src), np.where(reverse, src, dst)
    names = pa.array([f"0x{number:040x}" for number in generator.permutation(num_nodes)])
    return pa.table({
        "src": names.take(pa.array(src)), "dst": names.take(pa.array(dst)),
        "time": 1_600_000_000 + generator.integers(0, _YEAR, len(src)), "amount": generator.lognormal(4, 2, len(src)),
    })  # fmt: skip


def save_untrained(store: Store, folder: Path) -> None:
    """Save an untrained GTEA_L+T with default sizes: two layers, 64 wide."""
    config, cut = RunConfig(), store.as_of().cut
    preprocessing = preprocessing_for(store, cut, config)
    spec = input_spec(preprocessing)
    network = GTEANodeClassifier(config.model, spec, 2, seed=0)
    description = {
        "run": config.to_json(), "task": "nodes", "classes": ["illicit", "normal"], "positive": "illicit",
        "input": vars(spec),
    }  # fmt: skip
    save_model(
        folder, SavedModel(network.state_dict(), description, preprocessing.to_json(), METRICS, FACTS), "Untrained.\n"
    )


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run the methods in turn; ratios by wall clock and by processor time."""
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in METHODS}
    for _ in range(options.rounds):
        for name, method in METHODS.items():
            rounds[name].append(method(options))
            print(name, rounds[name][-1], file=sys.stderr, flush=True)
    exact, sampled, one = rounds["exact"], rounds["sampled"], rounds["one_account"]
    results: dict[str, Any] = {"exact_peak_gb": max(result["peak_gb"] for result in exact)}
    for unit, name in (("seconds", "s"), ("cpu_s", "cpu_s")):
        exact_time = statistics.median(result[unit] for result in exact)
        sampled_time = {size: statistics.median(result[unit][size] for result in sampled) for size in sampled[0][unit]}
        results[f"exact_{name}"] = exact_time
        results[f"sampled_{name}"] = sampled_time
        results[f"exact_vs_sampled_{name}"] = {
            size: round(value / exact_time, 1) for size, value in sampled_time.items()
        }
    # Wall clock, because that is what a user waits for. On a busy machine, check processor time as well.
    by_clock = results["exact_vs_sampled_s"]
    results["exact_vs_sampled"] = by_clock[str(RunConfig().sampling.batch_size)]
    results["exact_vs_best_sampled"] = min(by_clock.values())
    results["one_account_s"] = statistics.median(result["seconds"] for result in one)
    return {**results, "rounds": rounds}


def score_exactly_in_subprocess(options: argparse.Namespace) -> dict[str, Any]:
    """Score all accounts exactly, in a process of its own."""
    command = [sys.executable, __file__, "--exact-alone", "--folder", str(options.folder)]
    result: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return result


def score_exactly(options: argparse.Namespace) -> dict[str, Any]:
    """Score all accounts exactly, from opening the store to probabilities."""
    stages: dict[str, float] = {}

    def on_progress(stage: str, done: float | None) -> None:
        stages.setdefault(stage, time.perf_counter() - start)

    _warm_up(options)
    start, cpu_start = time.perf_counter(), time.process_time()
    store, model = Store.open(options.folder / "payments.store"), NodeModel.open(options.folder / "model", _CPU)
    model.probabilities(store, store.as_of().cut, np.arange(store.num_nodes), ScoringOptions(progress=on_progress))
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    starts = {stage: round(begin, 2) for stage, begin in stages.items()}
    peak_gb = round(resident("VmHWM") / 2**30, 2)
    return {"seconds": round(seconds, 2), "cpu_s": round(cpu, 2), "peak_gb": peak_gb, "stage_starts_s": starts}


def score_sampled(options: argparse.Namespace) -> dict[str, Any]:
    """Score a part of the accounts by sampling, for each batch size, and extrapolate to all accounts."""
    store, model = Store.open(options.folder / "payments.store"), NodeModel.open(options.folder / "model", _CPU)
    nodes = np.random.default_rng(1).permutation(store.num_nodes)[: options.part]
    collator = collator_for(store, store.as_of().cut, model.preprocessing, model.config)
    results: dict[str, dict[str, float]] = {"seconds": {}, "cpu_s": {}}
    feature_s, cpu_feature_s = _describe_all(store, model)
    for batch_size in (64, 512):
        scorer = NodeScorer(model.network, collator, batch_size, _CPU)
        scorer.probabilities(nodes)
        start, cpu_start = time.perf_counter(), time.process_time()
        scorer.probabilities(nodes)
        spent, cpu = time.perf_counter() - start, time.process_time() - cpu_start
        share = len(nodes) / store.num_nodes
        results["seconds"][str(batch_size)] = round(feature_s + spent / share, 1)
        results["cpu_s"][str(batch_size)] = round(cpu_feature_s + cpu / share, 1)
    return {**results, "described_s": round(feature_s, 2), "accounts_scored": len(nodes)}


def _describe_all(store: Store, model: NodeModel) -> tuple[float, float]:
    """Seconds to compute the features of all accounts: wall clock and processor time."""
    descriptions = Descriptions(store.as_of(), model.preprocessing)
    descriptions.rows(np.arange(10))
    start, cpu_start = time.perf_counter(), time.process_time()
    descriptions.table(np.arange(store.num_nodes))
    return time.perf_counter() - start, time.process_time() - cpu_start


def score_one_account(options: argparse.Namespace) -> dict[str, Any]:
    """Open the store, score one account, write the table."""
    opened = Store.open(options.folder / "payments.store")
    degrees = np.diff(opened.arrays.node_offset)
    account = opened.account(int(np.flatnonzero(degrees == int(degrees.mean()) + 1)[0]))
    accounts, out = pa.table({"account": [account]}), options.folder / "one.csv"
    _warm_up(options)
    start, cpu_start = time.perf_counter(), time.process_time()
    score_accounts(options.folder / "model", opened.path, out, accounts=accounts, device=_CPU)
    spent, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    return {"seconds": round(spent, 3), "cpu_s": round(cpu, 3)}


def _warm_up(options: argparse.Namespace) -> None:
    store = store_in_memory(["a", "a"], ["b", "b"], [1, 2], features={"amount": [1.0, 2.0]})
    NodeModel.open(options.folder / "model", _CPU).probabilities(store, 10, np.arange(2))


METHODS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "one_account": score_one_account,
    "exact": score_exactly_in_subprocess,
    "sampled": score_sampled,
}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="keeps store and model between runs; default: a temporary folder")
    parser.add_argument("--nodes", type=int, default=1_300_000)
    parser.add_argument("--edges", type=int, default=2_200_000)
    parser.add_argument("--part", type=int, default=10_000, help="number of accounts scored by sampling")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--exact-alone", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
