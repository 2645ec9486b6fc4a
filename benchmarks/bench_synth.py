"""How fast are synthetic payments generated and written?

    python benchmarks/bench_synth.py --events 5000000 --json

There is no rival. Generates one data set and prints events per second.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from gtea.datasets.payments import PaymentsSpec, write_payments


def measure(spec: PaymentsSpec) -> dict[str, float | int | str | None]:
    """Time one run until both files are synced to disk. Peak memory is that of the whole process."""
    pa.array(np.zeros(1))  # pyarrow imports pandas on first use, if installed; keep that out of the timing
    with tempfile.TemporaryDirectory() as folder:
        start, start_cpu = time.perf_counter(), time.process_time()
        transactions, _ = write_payments(spec, Path(folder))
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - start_cpu
        size = transactions.stat().st_size
    return {
        "benchmark": "synth",
        "accounts": spec.accounts,
        "events": spec.events,
        "seconds": round(seconds, 3),
        "cpu_seconds": round(cpu_seconds, 3),
        "events_per_second": round(spec.events / seconds),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "parquet_mb": size // 2**20,
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
    }


def main() -> None:
    """Parse the command line, run once, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--accounts", type=int, help="default: one per 20 events")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    result = measure(PaymentsSpec(args.accounts or args.events // 20, args.events, seed=args.seed))
    if args.json:
        print(json.dumps(result))
    else:
        print("\n".join(f"{name:18} {value}" for name, value in result.items()))


if __name__ == "__main__":
    main()
