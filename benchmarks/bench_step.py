"""What does a training step cost in time and memory, compared with GTEA as research code implements it?

    python benchmarks/bench_step.py [--json out.json] [--rounds 7] [--threads 2] [--rivals padded packed pyg tgat]

A step samples the neighbours of 32 accounts (10 x 10), gathers their histories, and runs forward, backward and Adam.
Histories have a mean length of 4 and at most 256 events of 8 features. All layers are 64 wide.

The rivals (benchmarks/rivals) get the same batches. *padded* pads every history to the longest and encodes an edge
again each time it occurs. *packed* does the same with pack_padded_sequence. *pyg* encodes each edge once and uses PyG
for the layers. *tgat* is this project's own TGAT, a smaller model that reads ten single events per query, with its
own sampler.

Memory is the peak growth of resident memory during a step. It is measured on a graph of a tenth of the size, because
it doesn't depend on the size of the graph.
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
from gtea.config import RunConfig, read_config
from gtea.features.preprocessing import input_spec, preprocessing_for
from gtea.models.gtea import GTEANodeClassifier
from gtea.models.registry import NodeBatches, build_classifier, entry_of, model_config
from gtea.nn.batch import Batch, EventBatch
from gtea.runtime.device import flush_denormals
from gtea.sampling.collate import Collator, collator_for
from gtea.sampling.loader import Loader
from interleave import machine, medians
from resident import resident
from rivals.encoders import PackedLSTM, PaddedLSTM
from rivals.plain_gtea import PlainGTEA

NODES, DEGREE = 100_000, 24
WARM_UP = 2
"""Accounts of the warm-up step, which triggers lazy loading and is not timed."""
NUM_FEATURES = 6  # gtea adds two: the direction and the time gap
WAIT_BATCHES = 49
"""Batches over which the wait for data is measured."""
CAPS = (64, 256, 1024)
RIVALS = ("padded", "packed", "pyg", "tgat")
_GB = 2**30


@flush_denormals()  # as in training; the rivals benefit from it too
def main() -> None:
    """Run the benchmark and print the results."""
    options = _options()
    torch.set_num_threads(options.threads)
    if options.child:
        print(json.dumps(memory_of_a_step(options.batch_size, options.cap)))
        return
    bench = Bench(256)
    results: dict[str, Any] = {
        "benchmark": "step",
        **machine(),
        "graph": bench.facts(),
        **speed(bench, options.rounds, options.rivals),
        "data_wait_share": round(data_wait_share(bench), 4),
        **memory(options.threads),
    }
    print(json.dumps(results, indent=2))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


class Bench:
    """A graph and training steps on it."""

    def __init__(self, cap: int, *settings: str, num_nodes: int = NODES) -> None:
        self.config: RunConfig = read_config(None, [f"sampling.max_events={cap}", *settings])
        self.store = heavy_tailed_store(num_nodes, DEGREE, NUM_FEATURES, longest=cap)
        self.preprocessing = preprocessing_for(self.store, self.store.as_of().cut, self.config)
        self.collator: Collator = collator_for(self.store, self.store.as_of().cut, self.preprocessing, self.config)
        self.spec = input_spec(self.preprocessing)

    def ours(self) -> GTEANodeClassifier:
        """A GTEA_L+T classifier."""
        return GTEANodeClassifier(self.config.model, self.spec, 2, seed=0)

    def seeds(self, number: int, size: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The accounts of a batch, different for each batch number."""
        return np.random.default_rng(number).permutation(self.store.num_nodes)[:size]

    def step(self, network: nn.Module, size: int, batches: NodeBatches | None = None) -> Callable[[int], object]:
        """A function that runs one training step with new accounts. Number 0 is the warm-up step."""
        optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
        source = batches or self.collator

        def run(number: int) -> None:
            train_step(network, optimiser, source.batch(self.seeds(number, size if number else WARM_UP), number))

        return run

    def tgat_step(self, size: int) -> Callable[[int], object]:
        """A training step of TGAT."""
        config = replace(self.config, model=model_config("tgat"))
        network = build_classifier(config.model, self.spec, 2, 0)
        batches = entry_of(config.model).node_batches(self.store, self.store.as_of().cut, self.preprocessing, config)
        return self.step(network, size, batches)

    def facts(self) -> dict[str, Any]:
        """Sizes of the graph and of one batch."""
        batch = self.collator.batch(self.seeds(0, 32), 0)
        return {
            "nodes": self.store.num_nodes,
            "edges": self.store.num_edges,
            "events": self.store.num_events,
            "edges_of_a_batch": batch.histories.num_edges,
            "events_of_a_batch": batch.num_events,
        }


def train_step(network: nn.Module, optimiser: torch.optim.Optimizer, batch: Batch | EventBatch) -> Tensor:
    """Run forward, backward and Adam."""
    optimiser.zero_grad(set_to_none=True)
    loss = functional.cross_entropy(network(batch), torch.arange(batch.num_within[0]) % 2)
    loss.backward()
    optimiser.step()
    return loss


def speed(bench: Bench, rounds: int, rivals: list[str]) -> dict[str, Any]:
    """Median milliseconds of a step of 32 accounts, and the speed-up over each rival."""
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
    """A step of 32 accounts of a rival; None if PyG is needed and not installed."""
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


def data_wait_share(bench: Bench) -> float:
    """The share of an epoch of 32-account steps that the model waits for batches.

    The second epoch is timed, because the first one also computes the account statistics.
    """
    network = bench.ours()
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    accounts = bench.seeds(0, 32 * WAIT_BATCHES)
    loader = Loader(
        lambda items, epoch: bench.collator.batch(accounts[items], epoch), len(accounts), batch_size=32, workers=1
    )
    for _ in loader.epoch(0):
        pass
    batches = loader.epoch(1)
    batch: Any = next(batches)
    waited, start = 0.0, time.perf_counter()
    while batch is not None:
        train_step(network, optimiser, batch[1])
        del batch  # freeing a batch takes a millisecond or two, which is not waiting for data
        wait_start = time.perf_counter()
        batch = next(batches, None)
        waited += time.perf_counter() - wait_start
    return waited / (time.perf_counter() - start)


def memory(threads: int) -> dict[str, Any]:
    """Peak memory of a step of 128 accounts for each cap on events, each in its own process."""
    steps = {cap: _child(threads, 128, cap) for cap in CAPS}
    step_256 = steps[256]
    return {
        "step_bytes_per_event": {cap: round(step["bytes"] / step["events"]) for cap, step in steps.items()},
        "step_events": {cap: step["events"] for cap, step in steps.items()},
        "batch_128_gb": round(step_256["bytes"] / _GB, 2),
        "batch_128_process_gb": round(step_256["process_bytes"] / _GB, 2),
        "batch_128_padded_gates_gb": round(step_256["padded_bytes"] / _GB, 1),
    }


def _child(threads: int, batch_size: int, cap: int) -> dict[str, int]:
    arguments = ["--child", "--threads", str(threads), "--batch-size", str(batch_size), "--cap", str(cap)]
    completed = subprocess.run([sys.executable, __file__, *arguments], check=True, stdout=subprocess.PIPE)
    results: dict[str, int] = json.loads(completed.stdout)
    return results


def memory_of_a_step(batch_size: int, cap: int) -> dict[str, int]:
    """Memory growth during the first step of this size, after a tiny warm-up step."""
    bench = Bench(cap, num_nodes=NODES // 10)
    network = bench.ours()
    bench.step(network, batch_size)(0)
    first = bench.collator.batch(bench.seeds(1, batch_size), 1)
    # Return freed memory to the system. Otherwise the step would reuse it and no growth would be visible.
    ctypes.CDLL(None).malloc_trim(0)
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    bench.step(network, batch_size)(1)
    return {
        "bytes": resident("VmHWM") - before,
        "process_bytes": resident("VmHWM"),
        "events": first.num_events,
        # Size of the gates of one padded encoder: [edges of the trees, longest, 4 x 64].
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
