"""How fast are neighbours sampled and batches collated, and what does a hub cost?

    python benchmarks/bench_sampling.py [--json out.json] [--nodes 1300000] [--degree 12] [--hub 10000000]

There is no rival: the target is an absolute rate, and a hub is compared with a leaf. The graph is built in memory:
pairs with heavy-tailed degrees, histories of ``--history`` events on average, and one hub with ``--hub`` neighbours
of its own. Times are the calling thread's processor time (median over batches, each with new seeds), which reduces
the effect of other load on the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphs import YEAR, addresses
from gtea.features.preprocessing import fit_preprocessing
from gtea.sampling.collate import Collator
from gtea.sampling.neighbours import NeighbourSampler, recency_ranks
from gtea.store.graph import graph_of
from gtea.store.memory import store_of_numbers
from gtea.store.store import Store


def main() -> None:
    """Build the graph, run the benchmark, print the results."""
    options = _options()
    store = synthetic_store(options.nodes, options.degree, options.hub, options.history)
    seeds = np.random.default_rng(1).permutation(options.nodes)[: options.seeds * options.batches]
    chunks = np.split(seeds, options.batches)
    results: dict[str, Any] = {
        "load_average": os.getloadavg()[0],
        "graph": {"nodes": store.num_nodes, "edges": store.num_edges, "events": store.num_events},
        "fanout": options.fanout,
        "seeds": options.seeds,
        "sampling": sampling_results(store, options.fanout, chunks),
        "one_node": one_node_results(store, options.fanout),
    }
    if not options.skip_batches:
        results["batch"] = batch_results(store, options.fanout, chunks)
    print(json.dumps(results, indent=2))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


def synthetic_store(num_nodes: int, degree: float, hub: int, mean_history: float) -> Store:
    """About ``degree`` neighbours per node on average, heavy-tailed. Node 0 is the hub."""
    generator = np.random.default_rng(0)
    num_pairs = int(num_nodes * degree / 2)
    popular = (num_nodes * generator.random(num_pairs) ** 2).astype(np.int64)
    others = generator.integers(0, num_nodes, num_pairs)
    lengths = generator.geometric(1 / mean_history, num_pairs)
    # The neighbours of the hub have no other neighbour, so the rest of the graph doesn't depend on the hub.
    src = np.concatenate([np.repeat(popular, lengths), np.zeros(hub, dtype=np.int64)])
    dst = np.concatenate([np.repeat(others, lengths), num_nodes + np.arange(hub)])
    times = generator.integers(0, YEAR, len(src))
    amounts = generator.lognormal(4, 2, len(src)).astype(np.float32)
    return store_of_numbers(addresses(num_nodes + hub), src, dst, times, features={"amount": amounts})


def sampling_results(store: Store, fanout: int, chunks: list[NDArray[np.int64]]) -> dict[str, Any]:
    """Two hops, in millions of sampled edges per second."""
    results: dict[str, Any] = {}
    half = store.as_of(YEAR // 2)
    for name, sampler in (
        ("uniform", NeighbourSampler(store.as_of(), fanout, 2)),
        ("uniform_as_of_half_time", NeighbourSampler(half, fanout, 2)),
        ("recent", NeighbourSampler(store.as_of(), fanout, 2, "recent")),
    ):
        sizes: list[int] = []

        def step(i: int, sampler: NeighbourSampler = sampler, sizes: list[int] = sizes) -> None:
            sizes.append(len(sampler.sample(chunks[i], i).edges))

        spent = measure(step, len(chunks))
        results[name] = {
            "edges_per_batch": round(statistics.mean(sizes)),
            "ms_per_batch": round(1e3 * spent, 3),
            "million_edges_per_second": round(statistics.mean(sizes) / spent / 1e6, 2),
        }
    graph = graph_of(store.as_of())
    start = time.thread_time()
    recency_ranks(graph)
    results["recency_ranks_seconds"] = round(time.thread_time() - start, 2)
    return results


def one_node_results(store: Store, fanout: int) -> dict[str, Any]:
    """One node at a time, one hop, alternating: the hub, a node of ordinary degree, a leaf."""
    degrees = np.diff(store.arrays.node_offset)
    nodes = {
        "hub": int(degrees.argmax()),
        "ordinary": int(np.flatnonzero(degrees == 4 * fanout)[0]),
        "leaf": int(np.flatnonzero(degrees == 1)[0]),
    }
    sampler = NeighbourSampler(store.as_of(), fanout, 1)
    spent: dict[str, list[float]] = {name: [] for name in nodes}
    for epoch in range(3_000):
        for name, node in nodes.items():
            seed = np.array([node])
            start = time.perf_counter()
            sampler.sample(seed, epoch)
            spent[name].append(time.perf_counter() - start)
    return {
        name: {"degree": int(degrees[node]), "us": round(1e6 * statistics.median(spent[name]), 1)}
        for name, node in nodes.items()
    }


def batch_results(store: Store, fanout: int, chunks: list[NDArray[np.int64]]) -> dict[str, Any]:
    """Whole batches, two layers: with new nodes, and with cached node features."""
    view = store.as_of()
    start = time.thread_time()
    preprocessing = fit_preprocessing(view)
    results: dict[str, Any] = {"fit_seconds": round(time.thread_time() - start, 2)}
    collator = Collator(view, preprocessing, fanout=fanout)
    events: list[int] = []

    def step(i: int) -> None:
        events.append(collator.batch(chunks[i], i).histories.num_events)

    for name in ("ms_new_nodes", "ms_known_nodes"):
        results[name] = round(1e3 * measure(step, len(chunks)), 2)
    return {**results, "events_per_batch": round(statistics.mean(events))}


def measure(step: Callable[[int], object], times: int) -> float:
    """Median thread seconds per step, after one step that compiles."""
    step(0)
    spent = []
    for i in range(times):
        start = time.thread_time()
        step(i)
        spent.append(time.thread_time() - start)
    return statistics.median(spent)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1_300_000)
    parser.add_argument("--degree", type=float, default=12)
    parser.add_argument("--hub", type=int, default=1_000_000, help="neighbours of the hub")
    parser.add_argument("--history", type=float, default=3, help="mean events per pair; the sampler doesn't read them")
    parser.add_argument("--fanout", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=128)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--skip-batches", action="store_true", help="time only the sampler")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
