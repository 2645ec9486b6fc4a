"""The short form of every benchmark, and one table of what they say beside what is asked of them.

    python benchmarks/bench_all.py [--json out.json] [--only lstm step]

Each part is a script of its own, run in a process of its own, one after the other. Times mean little on a busy
machine; ratios are taken within one run, in turns.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interleave import machine

Figures = Mapping[str, Any]
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Part:
    """One script and the figures that are taken from what it prints."""

    name: str
    script: str
    words: tuple[str, ...]
    take: Callable[[Figures], dict[str, Any]]


@dataclass(frozen=True)
class Target:
    """What is asked of a figure."""

    key: str
    what: str
    bound: float
    at_most: bool = False

    def met(self, value: float) -> bool:
        """Whether a figure is as asked."""
        return value <= self.bound if self.at_most else value >= self.bound


def parts(folder: Path) -> tuple[Part, ...]:
    """All of them, from quick to slow."""
    return (
        Part("sampling", "bench_sampling.py", ("--history", "1", "--skip-batches"), _sampling),
        Part("lstm", "bench_encoders.py", ("--edges", "2000", "--json"), _keys("lstm_speedup", "lstm_speedup_pytorch")),
        Part("peak", "bench_encoders.py", (*_PEAK, "--json"), _keys("lstm_peak_share")),
        Part(
            "transformer",
            "bench_encoders.py",
            ("--encoder", "transformer", "--edges", "1000", "--json"),
            _keys("transformer_speedup"),
        ),
        Part("step", "bench_step.py", ("--rivals", "padded", "tgat"), _step),
        Part(
            "scoring",
            "bench_scoring.py",
            ("--folder", str(folder), "--part", "2000"),
            _keys("exact_vs_sampled", "exact_vs_best_sampled", "exact_s", "exact_peak_gb", "one_account_s"),
        ),
        Part(
            "synth", "bench_synth.py", ("--json",), lambda figures: {"synth_events_per_s": figures["events_per_second"]}
        ),
        Part("ingest", "bench_ingest.py", ("--events", "5000000", "--json"), _ingest),
    )


_PEAK = ("--edges", "14000", "--threads", "2", "--skip-padded", "--rounds", "11")

TARGETS = (
    Target("lstm_speedup", "2,000 edges, LSTM, forward and backward, one thread, against padded", 150),
    Target("lstm_speedup_pytorch", "the same without the kernels", 60),
    Target("transformer_speedup", "1,000 edges, Transformer, against padded", 400),
    Target("step_speedup", "training step of 32 accounts, 10 x 10, against padded", 50),
    Target("batch_128_gb", "memory of a step of 128 accounts, GB", 1, at_most=True),
    Target("lstm_peak_share", "share of the fp32 peak, LSTM, training, 14,000 edges, two threads", 0.5),
    Target("sampler_medges_per_s", "million edges a second, one thread, 1.3 M nodes", 10),
    Target("data_wait_share", "share of a step spent waiting for data", 0.03, at_most=True),
    Target("step_bytes_spread", "bytes an event at caps 64, 256, 1,024: largest over smallest", 1.5, at_most=True),
    Target("exact_vs_sampled", "exact scores of 1.3 M accounts against 10 x 10 sampled", 8),
    Target("exact_peak_gb", "memory of exact scoring, GB", 6, at_most=True),
    Target("one_account_s", "one account with all its neighbours, store opened, seconds", 1, at_most=True),
)


def main() -> None:
    """Run, collect, print."""
    options = _options()
    figures: dict[str, Any] = {**machine()}
    with tempfile.TemporaryDirectory(prefix="gtea-bench-") as folder:
        for part in parts(Path(folder)):
            if options.only and part.name not in options.only:
                continue
            began = time.perf_counter()
            figures |= run(part)
            print(f"{part.name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
            if options.json:
                options.json.write_text(json.dumps(figures, indent=2) + "\n")
    print(table(figures))


def run(part: Part) -> dict[str, Any]:
    """The figures of one part."""
    done = subprocess.run([sys.executable, str(HERE / part.script), *part.words], check=True, stdout=subprocess.PIPE)
    return part.take(json.loads(done.stdout))


def table(figures: Figures) -> str:
    """One line a target: measured, asked for, and whether that is met."""
    lines = [f"{'key':<22} {'measured':>9} {'asked for':>10}        what"]
    for target in TARGETS:
        if target.key in figures:
            value, bound = figures[target.key], f"{'<=' if target.at_most else '>='} {target.bound:g}"
            verdict = "met" if target.met(value) else "MISSED"
            lines.append(f"{target.key:<22} {value:>9.4g} {bound:>10} {verdict:<6} {target.what}")
    return "\n".join(lines)


def _keys(*names: str) -> Callable[[Figures], dict[str, Any]]:
    return lambda figures: {name: figures[name] for name in names if name in figures}


def _sampling(figures: Figures) -> dict[str, Any]:
    hub = figures["one_node"]
    return {
        "sampler_medges_per_s": figures["sampling"]["uniform"]["million_edges_per_second"],
        "hub_us": hub["hub"]["us"],
        "leaf_us": hub["leaf"]["us"],
    }


def _ingest(figures: Figures) -> dict[str, Any]:
    return {"ingest_vs_duckdb_sort": figures["ratio"], "ingest_peak_gb": figures["ingest_peak_gb"]}


def _step(figures: Figures) -> dict[str, Any]:
    names = (
        "step_speedup",
        "step_speedup_tgat",
        "data_wait_share",
        "batch_128_gb",
    )
    each = figures["step_bytes_per_event"]
    spread = round(max(each.values()) / min(each.values()), 2)
    return {**_keys(*names)(figures), "step_bytes_per_event": each, "step_bytes_spread": spread}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", nargs="+", metavar="PART", help="some of the parts")
    return parser.parse_args()


if __name__ == "__main__":
    main()
