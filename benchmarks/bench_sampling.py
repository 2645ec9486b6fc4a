"""How fast are neighbours chosen and batches made, and what does a hub cost?

    python benchmarks/bench_sampling.py [--json out.json] [--nodes 1300000] [--degree 12] [--hub 10000000]

The graph is made in memory: pairs with heavy-tailed ends, histories of ``--history`` events on average, and one hub
with ``--hub`` partners of its own. Times are the calling thread's own (median over batches, every batch with new
seeds), so that other work on the machine counts less; it still takes its share of the caches.
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
    """Build, measure, report."""
    options = _options()
    store = synthetic_store(options.nodes, options.degree, options.hub, options.history)
    seeds = np.random.default_rng(1).permutation(options.nodes)[: options.seeds * options.batches]
    chunks = np.split(seeds, options.batches)
    figures: dict[str, Any] = {
        "load_average": os.getloadavg()[0],
        "graph": {"nodes": store.num_nodes, "edges": store.num_edges, "events": store.num_events},
        "fanout": options.fanout,
        "seeds": options.seeds,
        "sampling": sampling_figures(store, options.fanout, chunks),
        "one_node": hub_figures(store, options.fanout),
    }
    if not options.skip_batches:
        figures["batch"] = batch_figures(store, options.fanout, chunks)
    print(json.dumps(figures, indent=2))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


def synthetic_store(num_nodes: int, degree: float, hub: int, mean_history: float) -> Store:
    """About ``degree`` neighbours a node on average, with a heavy tail; node 0 is the hub."""
    generator = np.random.default_rng(0)
    num_pairs = int(num_nodes * degree / 2)
    popular = (num_nodes * generator.random(num_pairs) ** 2).astype(np.int64)
    others = generator.integers(0, num_nodes, num_pairs)
    lengths = generator.geometric(1 / mean_history, num_pairs)
    # The hub's partners have no other: everybody else stays as they are without it.
    src = np.concatenate([np.repeat(popular, lengths), np.zeros(hub, dtype=np.int64)])
    dst = np.concatenate([np.repeat(others, lengths), num_nodes + np.arange(hub)])
    times = generator.integers(0, YEAR, len(src))
    amounts = generator.lognormal(4, 2, len(src)).astype(np.float32)
    return store_of_numbers(addresses(num_nodes + hub), src, dst, times, features={"amount": amounts})


def sampling_figures(store: Store, fanout: int, chunks: list[NDArray[np.int64]]) -> dict[str, Any]:
    """Two hops, in millions of chosen edges a second."""
    figures: dict[str, Any] = {}
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
        figures[name] = {
            "edges_per_batch": round(statistics.mean(sizes)),
            "ms_per_batch": round(1e3 * spent, 3),
            "million_edges_per_second": round(statistics.mean(sizes) / spent / 1e6, 2),
        }
    graph = graph_of(store.as_of())
    start = time.thread_time()
    recency_ranks(graph)
    figures["recency_ranks_seconds"] = round(time.thread_time() - start, 2)
    return figures


def hub_figures(store: Store, fanout: int) -> dict[str, Any]:
    """One node at a time, one hop, in turns: the hub, a node of ordinary degree, a leaf."""
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


def batch_figures(store: Store, fanout: int, chunks: list[NDArray[np.int64]]) -> dict[str, Any]:
    """Whole batches, two layers: the first time that nodes are met, and when their features are known."""
    view = store.as_of()
    start = time.thread_time()
    preprocessing = fit_preprocessing(view)
    figures: dict[str, Any] = {"fit_seconds": round(time.thread_time() - start, 2)}
    collator = Collator(view, preprocessing, fanout=fanout)
    events: list[int] = []

    def step(i: int) -> None:
        events.append(collator.batch(chunks[i], i).histories.num_events)

    for name in ("ms_new_nodes", "ms_known_nodes"):
        figures[name] = round(1e3 * measure(step, len(chunks)), 2)
    return {**figures, "events_per_batch": round(statistics.mean(events))}


def measure(step: Callable[[int], object], times: int) -> float:
    """The median of the thread's own seconds a step, after one step to compile."""
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
    parser.add_argument("--history", type=float, default=3, help="events of a pair; sampling reads none of them")
    parser.add_argument("--fanout", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=128)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--skip-batches", action="store_true", help="time the sampler alone")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
