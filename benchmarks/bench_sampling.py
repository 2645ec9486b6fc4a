"""How fast are neighbours chosen and batches made, and what does a hub cost?

    python benchmarks/bench_sampling.py [--json out.json] [--nodes 1300000] [--degree 30]

The graph is made in memory: pairs with heavy-tailed ends, histories of 3 events on average, and one hub that has
traded with ``--hub`` accounts. Times are of the calling thread alone, so that other work on the machine counts less.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gtea.sampling.graph import graph_of
from gtea.sampling.neighbours import NeighbourSampler
from gtea.sampling.recency import recency_ranks
from gtea.store.memory import store_of_numbers
from gtea.store.store import Store
from gtea.store.strings import table_of

_YEAR = 365 * 86_400


def main() -> None:
    """Build, measure, report."""
    options = _options()
    store = synthetic_store(options.nodes, options.degree, options.hub)
    figures: dict[str, Any] = {
        "nodes": store.num_nodes,
        "edges": store.num_edges,
        "events": store.num_events,
        "fanout": options.fanout,
        "seeds": options.seeds,
    }
    figures |= sampling_figures(store, options)
    figures |= hub_figures(store, options.fanout)
    print(json.dumps(figures, indent=2))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


def synthetic_store(num_nodes: int, degree: float, hub: int) -> Store:
    """About ``degree`` neighbours a node on average, with a heavy tail; node 0 is the hub."""
    generator = np.random.default_rng(0)
    num_pairs = int(num_nodes * degree / 2)
    popular = (num_nodes * generator.random(num_pairs) ** 2).astype(np.int64)
    pairs = np.stack([popular, generator.integers(0, num_nodes, num_pairs)], axis=1)
    # The hub's partners come after everybody else, so that it alone is large.
    partners = num_nodes + np.arange(hub)
    pairs = np.concatenate([pairs, np.stack([np.zeros(hub, np.int64), partners], axis=1)])
    repeats = (
        generator.geometric(1 / 3, len(pairs))
        if hub == 0
        else np.r_[generator.geometric(1 / 3, num_pairs), np.ones(hub, np.int64)]
    )
    src, dst = np.repeat(pairs[:, 0], repeats), np.repeat(pairs[:, 1], repeats)
    times = generator.integers(0, _YEAR, len(src))
    amounts = generator.lognormal(4, 2, len(src)).astype(np.float32)
    ids = pa.array(np.char.mod("0x%040x", np.arange(num_nodes + hub)), pa.large_string())
    return store_of_numbers(table_of(ids), src, dst, times, features={"amount": amounts})


def sampling_figures(store: Store, options: argparse.Namespace) -> dict[str, Any]:
    """Two hops of uniform neighbours, in millions of chosen edges a second."""
    figures: dict[str, Any] = {}
    seeds = np.random.default_rng(1).permutation(options.nodes)
    for name, view in (("end", store.as_of()), ("half_time", store.as_of(_YEAR // 2))):
        sampler = NeighbourSampler(view, options.fanout, 2)
        sizes: list[int] = []

        def step(i: int, sampler: NeighbourSampler = sampler, sizes: list[int] = sizes) -> None:
            sizes.append(len(sampler.sample(seeds[i * options.seeds : (i + 1) * options.seeds], i).edges))

        spent = measure(step, options.batches)
        figures[name] = {
            "edges_per_batch": round(statistics.mean(sizes)),
            "ms_per_batch": round(1e3 * spent, 3),
            "million_edges_per_second": round(statistics.mean(sizes) / spent / 1e6, 2),
        }
    graph = graph_of(store.as_of())
    recency_ranks(graph)
    start = time.thread_time()
    recency_ranks(graph)
    figures["recency_ranks_seconds"] = round(time.thread_time() - start, 2)
    return {"sampling": figures}


def hub_figures(store: Store, fanout: int) -> dict[str, Any]:
    """One node at a time, one hop: the hub against a node of ordinary degree and a leaf."""
    degrees = np.diff(store.arrays.node_offset)
    nodes = {
        "hub": int(degrees.argmax()),
        "ordinary": int(np.flatnonzero(degrees == 4 * fanout)[0]),
        "leaf": int(np.flatnonzero(degrees == 1)[0]),
    }
    sampler = NeighbourSampler(store.as_of(), fanout, 1)
    figures = {}
    for name, node in nodes.items():
        seed = np.array([node])
        spent = measure(lambda i, seed=seed: sampler.sample(seed, i), 2_000)  # type: ignore[misc]
        figures[name] = {"degree": int(degrees[node]), "us": round(1e6 * spent, 2)}
    return {"one_node": figures}


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
    parser.add_argument("--degree", type=float, default=30)
    parser.add_argument("--hub", type=int, default=1_000_000, help="neighbours of the hub")
    parser.add_argument("--fanout", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=128)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
