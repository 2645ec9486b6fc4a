"""What does a whole training step cost, in time and memory, against GTEA as research code writes it?

    python benchmarks/bench_step.py [--json out.json] [--rounds 7] [--threads 2] [--rivals padded packed pyg tgat]

A step is: choose the neighbours of 32 accounts (10 x 10), gather their histories, forward, backward, Adam. Histories
have mean length 4 and at most 256 events of 8 features, everything is 64 wide. Rivals (benchmarks/rivals) get the same
batches: *padded* pads every history to the longest and encodes every edge as often as it is met; *packed* is the same
with pack_padded_sequence; *pyg* encodes each edge once and leaves the layers to PyG. *tgat* is this project's own TGAT,
a smaller model that reads single events, ten a query, with its own sampler.

Memory is what the process grows by, at its peak, over a step (the kernel's own count of resident pages), on a tenth
of that graph: its size has no part in it.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from graphs import heavy_tailed_store
from gtea.batch import Batch, EventBatch
from gtea.config import RunConfig, read_config, variant
from gtea.families import NodeBatches, family_of
from gtea.nn.classifier import NodeClassifier
from gtea.nn.denormals import flush_denormals
from gtea.sampling.collate import Collator
from gtea.sampling.inputs import collator_for, input_spec, preprocessing_for
from gtea.sampling.loader import Loader
from interleave import machine, medians
from resident import resident
from rivals.encoders import PackedLSTM, PaddedLSTM
from rivals.plain_gtea import PlainGTEA

NODES, DEGREE = 100_000, 24
WARM_UP = 2
"""Accounts of the step that doesn't count: it loads what is loaded late."""
GIVEN = 6  # and two that gtea adds: who sent, and the gap
CAPS = (64, 256, 1024)
RIVALS = ("padded", "packed", "pyg", "tgat")
_GB = 2**30


@flush_denormals()  # as in training; the rivals gain by it too
def main() -> None:
    """Measure and report."""
    options = _options()
    torch.set_num_threads(options.threads)
    if options.child:
        print(json.dumps(memory_of_a_step(options.batch_size, options.cap)))
        return
    bench = Bench(256)
    figures: dict[str, Any] = {
        "benchmark": "step",
        **machine(),
        "graph": bench.facts(),
        **speed(bench, options.rounds, options.rivals),
        "data_wait_share": round(waiting(bench, options.rounds), 4),
        **memory(options.threads),
    }
    print(json.dumps(figures, indent=2))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


class Bench:
    """A graph, and steps on it."""

    def __init__(self, cap: int, *settings: str, num_nodes: int = NODES) -> None:
        self.config: RunConfig = read_config(None, [f"sampling.max_events={cap}", *settings])
        self.store = heavy_tailed_store(num_nodes, DEGREE, GIVEN, longest=cap)
        self.preprocessing = preprocessing_for(self.store, self.store.as_of().cut, self.config)
        self.collator: Collator = collator_for(self.store, self.store.as_of().cut, self.preprocessing, self.config)
        self.spec = input_spec(self.preprocessing)

    def ours(self) -> NodeClassifier:
        """GTEA_L+T."""
        return NodeClassifier(self.config.model, self.spec, 2, seed=0)

    def seeds(self, number: int, size: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The accounts of a batch: others in every batch."""
        return np.random.default_rng(number).permutation(self.store.num_nodes)[:size]

    def step(self, network: nn.Module, size: int, batches: NodeBatches | None = None) -> Callable[[int], object]:
        """One training step with fresh accounts; number 0 warms up."""
        optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
        made = batches or self.collator

        def run(number: int) -> None:
            learn(network, optimiser, made.batch(self.seeds(number, size if number else WARM_UP), number))

        return run

    def tgat_step(self, size: int) -> Callable[[int], object]:
        """The same of TGAT."""
        config = replace(self.config, model=variant("tgat"))
        family = family_of(config.model)
        network = family.classifier(config.model, self.spec, 2, 0)
        batches = family.node_batches(self.store, self.store.as_of().cut, self.preprocessing, config)
        return self.step(network, size, batches)

    def facts(self) -> dict[str, Any]:
        """Sizes of the graph and of a batch."""
        batch = self.collator.batch(self.seeds(0, 32), 0)
        return {
            "nodes": self.store.num_nodes,
            "edges": self.store.num_edges,
            "events": self.store.num_events,
            "edges_of_a_batch": batch.histories.num_edges,
            "events_of_a_batch": batch.num_events,
        }


def learn(network: nn.Module, optimiser: torch.optim.Optimizer, batch: Batch | EventBatch) -> Tensor:
    """Forward, backward, Adam."""
    optimiser.zero_grad(set_to_none=True)
    loss = functional.cross_entropy(network(batch), torch.arange(batch.num_within[0]) % 2)
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()
    return loss


def speed(bench: Bench, rounds: int, rivals: list[str]) -> dict[str, Any]:
    """Median milliseconds of a step of 32 accounts, and how many times as long the rivals take."""
    steps = {"ours": bench.step(bench.ours(), 32)}
    steps |= {name: step for name in rivals if (step := rival_step(bench, name)) is not None}
    seconds = medians(steps, rounds)
    ratios = {name: round(value / seconds["ours"], 1) for name, value in seconds.items() if name != "ours"}
    return {
        "rounds": rounds,
        **{f"{name}_ms": round(1e3 * value, 1) for name, value in seconds.items()},
        **{("step_speedup" if name == "padded" else f"step_speedup_{name}"): ratio for name, ratio in ratios.items()},
    }


def rival_step(bench: Bench, name: str) -> Callable[[int], object] | None:
    """A step of 32 accounts by a rival; None where it needs what is not installed."""
    widths = bench.spec.d_node_features, bench.spec.d_event_features
    match name:
        case "padded":
            return bench.step(PlainGTEA(PaddedLSTM, *widths), 32)
        case "packed":
            return bench.step(PlainGTEA(PackedLSTM, *widths), 32)
        case "tgat":
            return bench.tgat_step(32)
    try:
        from rivals.message_passing import PyGGTEA
    except ImportError:
        return None
    return bench.step(PyGGTEA(PackedLSTM, *widths), 32)


def waiting(bench: Bench, rounds: int) -> float:
    """The share of an epoch of 32-account steps that the model spends waiting for batches.

    It is the second epoch: in the first, the statistics of accounts that nobody has met yet are computed.
    """
    network = bench.ours()
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    accounts = bench.seeds(0, 32 * 7 * rounds)
    loader = Loader(
        lambda items, epoch: bench.collator.batch(accounts[items], epoch), len(accounts), batch_size=32, workers=1
    )
    for _ in loader.epoch(0):
        pass
    batches = loader.epoch(1)
    following: Any = next(batches)
    waited, began = 0.0, time.perf_counter()
    while following is not None:
        learn(network, optimiser, following[1])
        del following  # giving the memory of a batch back takes a millisecond or two, and is no waiting for data
        asked = time.perf_counter()
        following = next(batches, None)
        waited += time.perf_counter() - asked
    return waited / (time.perf_counter() - began)


def memory(threads: int) -> dict[str, Any]:
    """Peak memory of a step of 128 accounts, each in a process of its own."""
    steps = {cap: _child(threads, 128, cap) for cap in CAPS}
    large = steps[256]
    return {
        "step_bytes_per_event": {cap: round(step["bytes"] / step["events"]) for cap, step in steps.items()},
        "step_events": {cap: step["events"] for cap, step in steps.items()},
        "batch_128_gb": round(large["bytes"] / _GB, 2),
        "batch_128_process_gb": round(large["process_bytes"] / _GB, 2),
        "batch_128_padded_gates_gb": round(large["padded_bytes"] / _GB, 1),
    }


def _child(threads: int, batch_size: int, cap: int) -> dict[str, int]:
    words = ["--child", "--threads", str(threads), "--batch-size", str(batch_size), "--cap", str(cap)]
    done = subprocess.run([sys.executable, __file__, *words], check=True, stdout=subprocess.PIPE)
    figures: dict[str, int] = json.loads(done.stdout)
    return figures


def memory_of_a_step(batch_size: int, cap: int) -> dict[str, int]:
    """Grown by how much over the first step of this size; a tiny one before it has set up what is set up once."""
    bench = Bench(cap, num_nodes=NODES // 10)
    network = bench.ours()
    bench.step(network, batch_size)(0)
    first = bench.collator.batch(bench.seeds(1, batch_size), 1)
    # What building the graph has freed would else be taken for the step, and nothing be seen to grow.
    ctypes.CDLL(None).malloc_trim(0)
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    bench.step(network, batch_size)(1)
    return {
        "bytes": resident("VmHWM") - before,
        "process_bytes": resident("VmHWM"),
        "events": first.num_events,
        # What the gates of one encoder alone would take: [edges of the trees, longest, 4 x 64].
        "padded_bytes": batch_size * 110 * cap * 4 * 64 * 4,
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rivals", nargs="+", choices=RIVALS, default=list(RIVALS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--batch-size", type=int, default=32, help=argparse.SUPPRESS)
    parser.add_argument("--cap", type=int, default=256, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
