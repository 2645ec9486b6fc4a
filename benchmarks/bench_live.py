"""What does an event cost while scores are kept exact, against scoring everything again?

    python benchmarks/bench_live.py [--json out.json] [--accounts 100000] [--events 10000] [--folder DIR]

Heavy-tailed graphs and untrained models: their attention discards almost no neighbour, which is the most expensive
case. One thread. The stream draws its accounts as the graph did, and one event in a hundred comes late.

- exact scores of all accounts, as ``gtea score`` computes them (the rival). Twice: before and after the stream.
- the stream one event at a time: the time of each ``update`` by the decile of the degree of the event's larger end, and
  apart the events of the 0.1 % of accounts with the most neighbours.
- the stream in batches of 256.
- then all that is marked, by ``settle``, and the largest difference from scoring anew.

Times are processor time, which is steadier than the clock on a shared machine.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from graphs import heavy_tailed_store
from gtea.config import InputSpec, RunConfig
from gtea.features.neighbour_labels import neighbour_labels_of
from gtea.features.preprocessing import input_spec, preprocessing_for
from gtea.live.live_scorer import LiveScorer
from gtea.models.hybrid import Hybrid
from gtea.models.model_folder import SavedModel
from gtea.models.registry import build_classifier, default_config, model_config
from gtea.scoring.scorer import NodeModel
from gtea.store.store import Store
from interleave import machine
from resident import resident

_BATCH = 256
_CPU = torch.device("cpu")
_LABELLED = 2_000


def main() -> None:
    """Build the graphs, run the streams, print the results."""
    options = _options()
    torch.set_num_threads(1)
    results: dict[str, Any] = {"benchmark": "live", **machine(), "runs": []}
    for accounts in options.accounts:
        for name in options.models:
            results["runs"].append(run(accounts, name, options.events, rival=not options.no_rival))
            print(json.dumps(results["runs"][-1], indent=2), flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


def run(accounts: int, name: str, num_events: int, *, rival: bool = True) -> dict[str, Any]:
    """One graph and one model."""
    store = heavy_tailed_store(accounts, 4.0, 1, longest=64)
    model = untrained(store, name)
    warm_up(name)
    found: dict[str, Any] = {
        "model": name,
        "accounts": accounts,
        "events": store.num_events,
        "pairs": 2 * store.num_edges,
    }
    exact = None
    if rival:
        exact = seconds(lambda: model.probabilities(store, store.end, np.arange(accounts)))
        found["scoring_all_s"] = round(exact, 2)
    scorers = list[LiveScorer]()
    found["starting_s"] = round(seconds(lambda: scorers.append(LiveScorer(model, store, allow_any_date=True))), 2)
    scorer, stream = scorers[0], stream_of(store, num_events)
    arrays = sum(array.nbytes for array in store._mapped.values())
    found["store_bytes"], found["scorer_bytes"] = arrays, scorer.num_bytes
    found["bytes_per_pair_beside_the_store"] = round((scorer.num_bytes - arrays) / (2 * store.num_edges))
    found["bytes_per_account"] = round(scorer.num_bytes / accounts)
    half = num_events // 2
    singles, batches = stream.slice(0, half), stream.slice(half)
    degree = np.diff(store.arrays.node_offset)
    found["single"] = one_by_one(scorer, singles, degree)
    found["batches"] = in_batches(scorer, batches)
    found["scorer_bytes_after"] = scorer.num_bytes
    found["settle_s"] = round(seconds(scorer.settle), 2)
    if exact is not None:
        found["times_cheaper_per_event"] = round(exact / (found["single"]["mean_ms"] / 1e3))
    found["resident_bytes"] = resident("VmRSS")
    return found


def one_by_one(scorer: LiveScorer, stream: pa.Table, degree: NDArray[np.int64]) -> dict[str, Any]:
    """Milliseconds of each update."""
    times, marked, computed = np.empty(len(stream)), np.empty(len(stream)), np.empty(len(stream))
    for i in range(len(stream)):
        row, before = stream.slice(i, 1), scorer.pending
        start = time.process_time()
        changes = scorer.update(row)
        times[i] = 1e3 * (time.process_time() - start)
        marked[i], computed[i] = changes.pending - before + len(changes), len(changes)
    ends = np.stack([numbers(stream, name) for name in ("src", "dst")])
    larger = degree[np.minimum(ends, len(degree) - 1)].max(axis=0)
    hubs = larger >= np.quantile(degree, 0.999)
    edges = np.quantile(larger[~hubs], np.linspace(0, 1, 11))
    deciles = []
    for low, high in pairwise(edges):
        some = times[~hubs & (larger >= low) & (larger <= high)]
        deciles.append({"degree": [int(low), int(high)], "p50_ms": quantile(some, 0.5), "p99_ms": quantile(some, 0.99)})
    return {
        "events": len(stream),
        "events_per_s": round(1e3 / times.mean(), 1),
        "mean_ms": round(float(times.mean()), 3),
        "p50_ms": quantile(times[~hubs], 0.5),
        "p99_ms": quantile(times[~hubs], 0.99),
        "hubs": {
            "events": int(hubs.sum()),
            "p50_ms": quantile(times[hubs], 0.5),
            "p99_ms": quantile(times[hubs], 0.99),
        },
        "by_decile": deciles,
        "accounts_changed_per_event": round(float(computed.mean()), 1),
    }


def in_batches(scorer: LiveScorer, stream: pa.Table) -> dict[str, Any]:
    """Events per second in batches."""
    parts = [stream.slice(first, _BATCH) for first in range(0, len(stream), _BATCH)]
    times, changed = [], 0
    for part in parts:
        start = time.process_time()
        changed += len(scorer.update(part))
        times.append(time.process_time() - start)
    return {
        "batch": _BATCH,
        "events_per_s": round(len(stream) / sum(times), 1),
        "p99_ms_per_batch": quantile(1e3 * np.array(times), 0.99),
        "accounts_changed_per_event": round(changed / len(stream), 1),
        "pending": scorer.pending,
    }


def stream_of(store: Store, count: int) -> pa.Table:
    """Events after those of the store, between accounts drawn as the graph draws them; one in a hundred comes late."""
    generator = np.random.default_rng(1)
    nodes = store.num_nodes
    src = (nodes * generator.random(count) ** 2).astype(np.int64)
    dst = generator.integers(0, nodes + nodes // 100, count)  # some are new
    times = store.end + np.sort(generator.integers(0, 86_400, count))
    times[generator.random(count) < 0.01] -= 30 * 86_400
    names = {"src": [store.account(int(node)) for node in src], "dst": [account(store, int(node)) for node in dst]}
    return pa.table(names | {"time": times, "f0": generator.lognormal(1, 1, count)})


def account(store: Store, node: int) -> str:
    """The id of an account of the store, or a new one."""
    return store.account(node) if node < store.num_nodes else f"new-{node}"


def numbers(stream: pa.Table, name: str) -> NDArray[np.int64]:
    """The node number in each id."""
    ids = stream[name].to_pylist()
    return np.array([1 << 62 if text.startswith("new") else int(text, 16) for text in ids])


def untrained(store: Store, name: str) -> NodeModel:
    """A model with random weights; trees fitted to noise."""
    config: RunConfig = default_config(model_config(name), "nodes")
    hybrid = name == "hybrid"
    nodes = np.random.default_rng(2).choice(store.num_nodes, min(_LABELLED, store.num_nodes // 2), replace=False)
    labels = neighbour_labels_of(store, np.sort(nodes), np.arange(len(nodes)) % 2, ["bad", "ok"])
    preprocessing = preprocessing_for(store, store.end, config, for_trees=hybrid, labels=labels)
    spec: InputSpec = input_spec(preprocessing)
    network = build_classifier(config.model, spec, 2, 1)
    if isinstance(network, Hybrid):
        rows = torch.randn(4_000, spec.d_tree_inputs, generator=torch.Generator().manual_seed(3))
        network.fit_trees(rows, torch.arange(4_000) % 2, torch.ones(4_000))
    described = {"task": "nodes", "classes": ["bad", "ok"], "positive": "bad", "input": vars(spec)}
    saved = SavedModel(network.state_dict(), described | {"run": config.to_json()}, preprocessing.to_json(), {}, {})
    return NodeModel(saved, _CPU)


def warm_up(name: str) -> None:
    """Compile and load everything."""
    store = heavy_tailed_store(2_000, 4.0, 1, longest=64)
    scorer = LiveScorer(untrained(store, name), store, allow_any_date=True)
    stream = stream_of(store, 600)
    one_by_one(scorer, stream.slice(0, 300), np.diff(store.arrays.node_offset))
    in_batches(scorer, stream.slice(300))
    scorer.settle()


def seconds(work: Any) -> float:
    """Processor seconds of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def quantile(values: NDArray[np.float64], share: float) -> float | None:
    """A quantile, rounded; None of nothing."""
    return round(float(np.quantile(values, share)), 3) if len(values) else None


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--accounts", type=int, nargs="+", default=[100_000])
    parser.add_argument("--models", nargs="+", default=["hybrid", "gtea-l+t"])
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--no-rival", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
