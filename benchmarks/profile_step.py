"""Where does the time of a training step go?

    python benchmarks/profile_step.py [--batch-size 128] [--steps 20] [--threads 2] [--encoder lstm] [--ops 12]

There is no rival. The graph and the step are those of bench_step.py. Prints the stages of a step (medians over the
steps; the time of a module is that of its forward pass, including submodules), then the slowest operators, forward
and backward.
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

from bench_step import Bench, train_step
from gtea.models.gtea import GTEANodeClassifier
from gtea.nn.batch import Batch


def main() -> None:
    """Profile and print."""
    options = _options()
    torch.set_num_threads(options.threads)
    bench = Bench(256, f"model.encoder={options.encoder}")
    network = bench.ours()
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    timer = StageTimer(network)
    for number in range(options.steps + 3):
        if number == 3:
            timer.seconds.clear()
        with timer("sample and gather"):
            batch = bench.collator.batch(bench.seeds(number, options.batch_size), number)
        timed_step(network, optimiser, batch, timer)
    print(f"{batch.histories.num_edges:,} edges and {batch.num_events:,} events in the last batch")
    timer.show()
    with profile(activities=[ProfilerActivity.CPU]) as trace:
        for number in range(options.steps):
            train_step(network, optimiser, bench.collator.batch(bench.seeds(number, options.batch_size), number))
    print(trace.key_averages().table(sort_by="self_cpu_time_total", row_limit=options.ops, max_name_column_width=40))


class StageTimer:
    """Records the seconds of each stage by name. Modules are timed with hooks."""

    def __init__(self, network: GTEANodeClassifier) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self._starts: dict[int, float] = {}
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
        """Time a block."""
        start = time.perf_counter()
        yield
        self.seconds[name].append(time.perf_counter() - start)

    def show(self) -> None:
        """Print the stages in order, with their share of the step."""
        medians = {name: statistics.median(times) for name, times in self.seconds.items()}
        total = sum(value for name, value in medians.items() if not name.startswith(" "))
        order = ["sample and gather", "forward", *(name for name in medians if name.startswith(" "))]
        for name in [*order, "backward", "optimiser"]:
            print(f"{name:<24} {1e3 * medians[name]:8.2f} ms {medians[name] / total:7.1%}")
        print(f"{'whole step':<24} {1e3 * total:8.2f} ms")

    def _start(self, module: nn.Module, _: Any) -> None:
        self._starts[id(module)] = time.perf_counter()

    def _stop(self, name: str) -> Any:
        def stop(module: nn.Module, *_: Any) -> None:
            self.seconds[name].append(time.perf_counter() - self._starts[id(module)])

        return stop


def timed_step(network: nn.Module, optimiser: torch.optim.Optimizer, batch: Batch, timer: StageTimer) -> None:
    """Run one step and time its stages."""
    optimiser.zero_grad(set_to_none=True)
    with timer("forward"):
        loss = functional.cross_entropy(network(batch), torch.arange(batch.num_within[0]) % 2)
    with timer("backward"):
        loss.backward()
    with timer("optimiser"):
        optimiser.step()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--encoder", choices=["lstm", "transformer", "statistics"], default="lstm")
    parser.add_argument("--ops", type=int, default=12, help="number of operators to list")
    return parser.parse_args()


if __name__ == "__main__":
    main()
