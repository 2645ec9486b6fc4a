"""Do time and memory grow at most linearly with the number of events, up to the paper's largest data set?

    python benchmarks/bench_scale.py --folder DIR [--largest 256] [--json out.json] [--plot out.png]

There is no rival: linear growth is the reference. The graphs are 1x, 4x, 16x, 64x and 256x the smallest. The largest
has 3 M nodes, 5.4 M edges and 184 M events, as the paper reports for Phish-L. At each size, the command line runs
three steps, each in its own process: ingest, one training epoch over 4,000 labelled accounts, and exact scores of all
accounts. Results of completed sizes are kept in the folder, so an interrupted benchmark can be continued. Seconds and
peak resident memory are those of the process.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from interleave import machine

NODES, EDGES, EVENTS = 3_000_000, 5_400_000, 184_000_000
LARGEST = 256
LABELLED = 4_000
LONGEST = 20_000
YEAR = 365 * 86_400
PAIRS_AT_ONCE = 50_000
STEPS = ("ingest", "train", "score")


@dataclass(frozen=True)
class Size:
    """One graph, ``scale`` times the smallest."""

    scale: int

    @property
    def nodes(self) -> int:
        """Number of accounts."""
        return NODES * self.scale // LARGEST

    @property
    def edges(self) -> int:
        """Number of pairs."""
        return EDGES * self.scale // LARGEST

    @property
    def events(self) -> int:
        """Exact number of events."""
        return EVENTS * self.scale // LARGEST


def main() -> None:
    """Measure all sizes that have no results yet, and print all results."""
    options = _options()
    if options.write:
        write_events(Size(options.write), options.folder / "transactions.parquet")
        write_labels(Size(options.write), options.folder / "labels.csv")
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    if not any(options.folder.glob("scale-*.json")):
        measure(Size(1), options.folder / "warm-up")  # fills the caches of compiled code
    rows = []
    scale = 1
    while scale <= options.largest:
        rows.append(read_or_measure(Size(scale), options.folder))
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
        scale *= 4
    results = {"benchmark": "scale", **machine(), "sizes": rows, "growth": growth(rows)}
    print(json.dumps(results, indent=2))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")
    if options.plot:
        plot(rows, options.plot)


def read_or_measure(size: Size, folder: Path) -> dict[str, Any]:
    """The results of one size, from an earlier run if there is one."""
    record = folder / f"scale-{size.scale}.json"
    if record.exists():
        results: dict[str, Any] = json.loads(record.read_text())
        return results
    results = measure(size, folder / f"scale-{size.scale}")
    record.write_text(json.dumps(results, indent=2) + "\n")
    return results


def measure(size: Size, folder: Path) -> dict[str, Any]:
    """Seconds and memory of each step. Data and store are deleted afterwards."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    # In a subprocess: a child's peak memory starts at the memory of its parent.
    subprocess.run([sys.executable, __file__, "--folder", str(folder), "--write", str(size.scale)], check=True)
    steps = {name: run(command(name, folder)) for name in STEPS}
    shutil.rmtree(folder)
    return {"scale": size.scale, "nodes": size.nodes, "edges": size.edges, "events": size.events, **steps}


def command(step: str, folder: Path) -> list[str]:
    """The command line of a step."""
    store, model = str(folder / "store"), str(folder / "model")
    match step:
        case "ingest":
            columns = ["--src", "src", "--dst", "dst", "--time", "time", "--time-unit", "s", "--features", "amount"]
            return ["ingest", str(folder / "transactions.parquet"), *columns, "--out", store]
        case "train":
            # The labels are random: only the cost matters.
            return ["train", store, "--labels", str(folder / "labels.csv"), "--set", "train.epochs=1", "--out", model]
        case _:
            return ["score", model, store, "--out", str(folder / "scores.parquet")]


def run(arguments: list[str]) -> dict[str, float]:
    """Seconds and peak memory in GB of ``gtea`` with these arguments."""
    program = str(Path(sys.executable).with_name("gtea"))
    start = time.perf_counter()
    process = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"gtea {' '.join(arguments)}: failed with status {status}.")
    return {"seconds": round(seconds, 2), "peak_gb": round(_peak(usage), 2)}


def _peak(usage: resource.struct_rusage) -> float:
    return usage.ru_maxrss / 2**20


def write_events(size: Size, path: Path) -> None:
    """Write pairs with heavy-tailed degrees and heavy-tailed histories, in chunks of pairs."""
    generator = np.random.default_rng(size.scale)
    popular = (size.nodes * generator.random(size.edges) ** 3).astype(np.int64)
    # Every account has at least one neighbour.
    others = generator.permutation(np.arange(size.edges) % size.nodes)
    lengths = integer_shares(size.events, 1 / generator.random(size.edges) ** (1 / 1.2))
    names = pa.array([f"0x{number:040x}" for number in generator.permutation(size.nodes)])
    schema = pa.schema({"src": pa.string(), "dst": pa.string(), "time": pa.int64(), "amount": pa.float64()})
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(0, size.edges, PAIRS_AT_ONCE):
            here = slice(first, first + PAIRS_AT_ONCE)
            a, b = (np.repeat(ends[here], lengths[here]) for ends in (popular, others))
            reverse = generator.random(len(a)) < 0.3
            writer.write_table(
                pa.table(
                    {
                        "src": names.take(pa.array(np.where(reverse, b, a))),
                        "dst": names.take(pa.array(np.where(reverse, a, b))),
                        "time": 1_600_000_000 + generator.integers(0, YEAR, len(a)),
                        "amount": generator.lognormal(4, 2, len(a)),
                    },
                    schema=schema,
                )
            )


def integer_shares(total: int, shares: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Integers of at least 1 that sum to the total, roughly proportional to the shares and capped near ``LONGEST``."""
    lengths: np.ndarray[Any, np.dtype[np.int64]] = np.minimum(
        1 + (total - len(shares)) * shares / shares.sum(), LONGEST
    ).astype(np.int64)
    missing = total - int(lengths.sum())
    # Distribute what rounding and the cap removed evenly.
    lengths += missing // len(lengths)
    lengths[: missing % len(lengths)] += 1
    return lengths


def write_labels(size: Size, path: Path) -> None:
    """Write random labels: only the cost matters."""
    generator = np.random.default_rng(1)
    accounts = generator.permutation(size.nodes)[:LABELLED]
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["account", "label"])
        writer.writerows((f"0x{account:040x}", ("illicit", "normal")[account % 2]) for account in accounts)


def growth(rows: list[dict[str, Any]]) -> dict[str, float]:
    """The exponent of time over events for each step, from the second to the last size; 1 is linear.

    The smallest size is left out, because imports dominate its time.
    """
    if len(rows) < 3:
        return {}
    first, last = rows[1], rows[-1]
    events = math.log(last["events"] / first["events"])
    return {step: round(math.log(last[step]["seconds"] / first[step]["seconds"]) / events, 2) for step in STEPS}


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """Plot seconds and memory over events on log scales, with a line of linear growth for reference."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    events = [row["events"] for row in rows]
    for step in STEPS:
        left.plot(events, [row[step]["seconds"] for row in rows], "o-", label=step)
        right.plot(events, [row[step]["peak_gb"] for row in rows], "o-", label=step)
    end = max(rows[-1][step]["seconds"] for step in STEPS)
    left.plot(events, [end * count / events[-1] for count in events], "--", color="grey", label="linear in events")
    for axes, label in ((left, "seconds"), (right, "peak memory, GB")):
        axes.set(xscale="log", yscale="log", xlabel="events", ylabel=label)
        axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
        axes.yaxis.set_minor_formatter(ticker.NullFormatter())
        axes.grid(alpha=0.3)
        axes.legend()
    figure.suptitle("Ingest, one training epoch over 4,000 accounts, exact scores of all accounts; two cores")
    figure.savefig(path, dpi=120)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="folder for data and results")
    parser.add_argument("--largest", type=int, default=LARGEST, help="1, 4, 16, 64 or 256")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--write", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
