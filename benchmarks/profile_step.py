"""Where does the time of a training step go?

    python benchmarks/profile_step.py [--batch-size 128] [--steps 20] [--threads 2] [--encoder lstm] [--ops 12]

The graph and the step are those of bench_step.py. First the stages of a step (medians over the steps; a module's time
is that of its forward pass, what it calls included), then the operators that took most time, forward and backward.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile

from bench_step import Bench, learn
from gtea.models.gtea import GTEANodeClassifier
from gtea.nn.batch import Batch


def main() -> None:
    """Measure and print."""
    options = _options()
    torch.set_num_threads(options.threads)
    bench = Bench(256, f"model.encoder={options.encoder}")
    network = bench.ours()
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    watch = Watch(network)
    for number in range(options.steps + 3):
        if number == 3:
            watch.seconds.clear()
        with watch("sample and gather"):
            batch = bench.collator.batch(bench.seeds(number, options.batch_size), number)
        step(network, optimiser, batch, watch)
    print(f"{batch.histories.num_edges:,} edges and {batch.num_events:,} events in the last batch")
    watch.show()
    with profile(activities=[ProfilerActivity.CPU]) as trace:
        for number in range(options.steps):
            learn(network, optimiser, bench.collator.batch(bench.seeds(number, options.batch_size), number))
    print(trace.key_averages().table(sort_by="self_cpu_time_total", row_limit=options.ops, max_name_column_width=40))


class Watch:
    """Seconds of each stage, by name, of the model's parts by hooks."""

    def __init__(self, network: GTEANodeClassifier) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self._began: dict[int, float] = {}
        gtea = network.gtea
        parts: dict[str, nn.Module | None] = {
            "  encode edges": gtea.edge_encoder,
            "    time encoding": gtea.edge_encoder.time2vec,
            "  attention": gtea.normaliser,
            **{f"  layer {number}": layer for number, layer in enumerate(gtea.layers, 1)},
        }
        for name, part in parts.items():
            if part is not None:
                part.register_forward_pre_hook(self._start)
                part.register_forward_hook(self._stop(name))

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Time what is inside."""
        began = time.perf_counter()
        yield
        self.seconds[name].append(time.perf_counter() - began)

    def show(self) -> None:
        """Stages in the order in which they began, and their share of the step."""
        medians = {name: statistics.median(times) for name, times in self.seconds.items()}
        whole = sum(value for name, value in medians.items() if not name.startswith(" "))
        order = ["sample and gather", "forward", *(name for name in medians if name.startswith(" "))]
        for name in [*order, "backward", "optimiser"]:
            print(f"{name:<24} {1e3 * medians[name]:8.2f} ms {medians[name] / whole:7.1%}")
        print(f"{'whole step':<24} {1e3 * whole:8.2f} ms")

    def _start(self, module: nn.Module, _: Any) -> None:
        self._began[id(module)] = time.perf_counter()

    def _stop(self, name: str) -> Any:
        def stop(module: nn.Module, *_: Any) -> None:
            self.seconds[name].append(time.perf_counter() - self._began[id(module)])

        return stop


def step(network: nn.Module, optimiser: torch.optim.Optimizer, batch: Batch, watch: Watch) -> None:
    """One step, stage by stage."""
    optimiser.zero_grad(set_to_none=True)
    with watch("forward"):
        loss = functional.cross_entropy(network(batch), torch.arange(batch.num_within[0]) % 2)
    with watch("backward"):
        loss.backward()  # type: ignore[no-untyped-call]
    with watch("optimiser"):
        optimiser.step()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--encoder", choices=["lstm", "transformer", "statistics"], default="lstm")
    parser.add_argument("--ops", type=int, default=12, help="how many operators to list")
    return parser.parse_args()


if __name__ == "__main__":
    main()
