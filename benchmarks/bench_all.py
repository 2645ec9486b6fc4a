"""Does gtea meet its performance targets? Runs a short form of every benchmark and prints one table (``make bench``).

    python benchmarks/bench_all.py [--json out.json] [--only lstm step]

Each part runs one benchmark script in its own process, one after the other. The scripts name their rivals: padded
encoders (bench_encoders.py), a padded GTEA (bench_step.py), sampled scoring (bench_scoring.py), NumPy
(bench_statistics.py) and DuckDB's sort (bench_ingest.py). Most comparisons take three rounds. On two idle cores of an
AMD EPYC all parts took 3.3 minutes, so a machine a third as fast stays under ten. Absolute times mean little on a busy
machine. Ratios are more stable, because the methods they compare alternate within one run.
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

Results = Mapping[str, Any]
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Part:
    """A benchmark script, its arguments, and how to pick results from its output."""

    name: str
    script: str
    arguments: tuple[str, ...]
    select: Callable[[Results], dict[str, Any]]


@dataclass(frozen=True)
class Target:
    """The required bound of one result."""

    key: str
    description: str
    bound: float
    at_most: bool = False

    def met(self, value: float) -> bool:
        """Whether a value meets the target."""
        return value <= self.bound if self.at_most else value >= self.bound


def parts(folder: Path) -> tuple[Part, ...]:
    """All parts. The folder keeps the store of the scoring benchmark."""
    return (
        Part("sampling", "bench_sampling.py", ("--history", "1", "--skip-batches"), _sampling_results),
        Part(
            "lstm",
            "bench_encoders.py",
            ("--edges", "2000", *_ROUNDS, "--json"),
            _keys("lstm_speedup", "lstm_speedup_pytorch"),
        ),
        Part("peak", "bench_encoders.py", (*_PEAK, "--json"), _keys("lstm_peak_share")),
        Part(
            "transformer",
            "bench_encoders.py",
            ("--encoder", "transformer", "--edges", "1000", *_ROUNDS, "--json"),
            _keys("transformer_speedup"),
        ),
        Part("step", "bench_step.py", ("--rivals", "padded", "tgat", *_ROUNDS), _step_results),
        Part(
            "scoring",
            "bench_scoring.py",
            ("--folder", str(folder), "--part", "2000", *_ROUNDS),
            _keys("exact_vs_sampled", "exact_vs_best_sampled", "exact_s", "exact_peak_gb", "one_account_s"),
        ),
        Part(
            "synth", "bench_synth.py", ("--json",), lambda results: {"synth_events_per_s": results["events_per_second"]}
        ),
        Part(
            "statistics",
            "bench_statistics.py",
            (),
            _keys("statistics_s", "statistics_vs_numpy", "statistics_vs_one_thread"),
        ),
        Part("ingest", "bench_ingest.py", ("--events", "5000000", "--json"), _ingest_results),
    )


_ROUNDS = ("--rounds", "3")
"""One padded run takes 5 to 10 seconds, and so does one exact scoring: they determine the total time."""

_PEAK = ("--edges", "14000", "--threads", "2", "--skip-padded", "--rounds", "11")

TARGETS = (
    Target("lstm_speedup", "2,000 edges, LSTM, forward and backward, one thread, against padded", 150),
    Target("lstm_speedup_pytorch", "the same without compiled kernels", 60),
    Target("transformer_speedup", "1,000 edges, Transformer, against padded", 400),
    Target("step_speedup", "training step of 32 accounts, 10 x 10, against padded", 50),
    Target("batch_128_gb", "peak memory of a step of 128 accounts, GB", 1, at_most=True),
    Target("lstm_peak_share", "share of the fp32 peak, LSTM, training, 14,000 edges, two threads", 0.5),
    Target("sampler_medges_per_s", "sampler, million edges per second, one thread, 1.3 M nodes", 10),
    Target("data_wait_share", "share of a step spent waiting for data", 0.03, at_most=True),
    Target("step_bytes_spread", "bytes per event at caps 64, 256, 1,024: largest / smallest", 1.5, at_most=True),
    Target("exact_vs_sampled", "exact scores of 1.3 M accounts, against 10 x 10 sampled", 8),
    Target("exact_peak_gb", "peak memory of exact scoring, GB", 6, at_most=True),
    Target("statistics_vs_numpy", "own, partner and rhythm statistics of 130,000 accounts, against NumPy", 2),
    Target("one_account_s", "score one account with all its neighbours, seconds", 1, at_most=True),
)


def main() -> None:
    """Run all parts, collect the results, print the table."""
    options = _options()
    results: dict[str, Any] = {**machine()}
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="gtea-bench-") as folder:
        for part in parts(Path(folder)):
            if options.only and part.name not in options.only:
                continue
            part_start = time.perf_counter()
            results |= run(part)
            print(f"{part.name}: {time.perf_counter() - part_start:.0f} s", file=sys.stderr, flush=True)
            if options.json:
                options.json.write_text(json.dumps(results, indent=2) + "\n")
    print(f"total: {(time.perf_counter() - start) / 60:.1f} minutes", file=sys.stderr, flush=True)
    print(table(results))


def run(part: Part) -> dict[str, Any]:
    """Run one part and return its results."""
    command = [sys.executable, str(HERE / part.script), *part.arguments]
    completed = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return part.select(json.loads(completed.stdout))


def table(results: Results) -> str:
    """One line per target: measured value, target, and whether it is met."""
    lines = [f"{'key':<22} {'measured':>9} {'target':>10}        description"]
    for target in TARGETS:
        if target.key in results:
            value, bound = results[target.key], f"{'<=' if target.at_most else '>='} {target.bound:g}"
            verdict = "met" if target.met(value) else "MISSED"
            lines.append(f"{target.key:<22} {value:>9.4g} {bound:>10} {verdict:<6} {target.description}")
    return "\n".join(lines)


def _keys(*names: str) -> Callable[[Results], dict[str, Any]]:
    return lambda results: {name: results[name] for name in names if name in results}


def _sampling_results(results: Results) -> dict[str, Any]:
    one_node = results["one_node"]
    return {
        "sampler_medges_per_s": results["sampling"]["uniform"]["million_edges_per_second"],
        "hub_us": one_node["hub"]["us"],
        "leaf_us": one_node["leaf"]["us"],
    }


def _ingest_results(results: Results) -> dict[str, Any]:
    return {"ingest_vs_duckdb_sort": results["ratio"], "ingest_peak_gb": results["ingest_peak_gb"]}


def _step_results(results: Results) -> dict[str, Any]:
    names = ("step_speedup", "step_speedup_tgat", "data_wait_share", "batch_128_gb")
    per_event = results["step_bytes_per_event"]
    spread = round(max(per_event.values()) / min(per_event.values()), 2)
    return {**_keys(*names)(results), "step_bytes_per_event": per_event, "step_bytes_spread": spread}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", nargs="+", metavar="PART", help="run only these parts")
    return parser.parse_args()


if __name__ == "__main__":
    main()
