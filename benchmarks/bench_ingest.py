"""How much time and memory does ingest need, compared with DuckDB's sort of the same file?

    python benchmarks/bench_ingest.py --events 60000000 --json

The rival is ``COPY (SELECT ... ORDER BY src, dst, t) TO parquet``, which only groups the events of each pair. Ingest
does that sort too; it also numbers the accounts, finds the edges, builds the adjacency, counts duplicates and writes
digests. The two alternate. Each run has its own process, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import duckdb

RIVAL = """
import duckdb, sys
con = duckdb.connect()
con.execute("SET enable_progress_bar = false")
con.execute(f"SET memory_limit = '{sys.argv[3]}'; SET temp_directory = '{sys.argv[2]}.spill'")
con.execute(f"COPY (SELECT * FROM '{sys.argv[1]}' ORDER BY src, dst, t) TO '{sys.argv[2]}' (FORMAT parquet)")
"""
OURS = """
import sys
from gtea.ingestion.ingest import ingest
ingest(sys.argv[1], src="src", dst="dst", time="t", features=["amount"], time_unit="s", out=sys.argv[2],
       overwrite=True, memory=sys.argv[3])
"""


def generate(path: Path, events: int, accounts: int, text: bool) -> None:
    """Write payments with heavy-tailed histories (about eight events per pair), unordered.

    Ids are integers, or text of 42 characters.
    """
    kind = "'0x' || sha1(({} % {})::VARCHAR)" if text else "({} % {})::BIGINT"
    src, dst = kind.format("hash(p * 2)", accounts), kind.format("hash(p * 2 + 1)", accounts)
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET memory_limit = '4GB'")
    connection.execute(f"SET temp_directory = '{path}.spill'")
    connection.execute(f"""COPY (
        SELECT {src} AS src, {dst} AS dst,
               1500000000 + (random() * 1e8)::BIGINT AS t, (random() * 100)::FLOAT AS amount
        FROM (SELECT (pow(random(), 2) * {events} / 8)::BIGINT AS p FROM range({events}))
        ) TO '{path}' (FORMAT parquet)""")


def measure(script: str, source: Path, out: Path, memory: str) -> dict[str, float]:
    """Seconds and peak resident memory of a script in its own process."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", script, str(source), str(out), memory])
    peak = 0.0
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        status = Path(f"/proc/{process.pid}/status")
        while not done.wait(0.05):
            try:
                lines = status.read_text().splitlines()
            except OSError:
                return
            peak = max(peak, *(int(line.split()[1]) / 1e6 for line in lines if line.startswith("VmHWM")), 0.0)

    watcher = threading.Thread(target=watch)
    watcher.start()
    code = process.wait()
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    if code:
        raise SystemExit(f"the run failed with exit code {code}")
    return {"seconds": seconds, "peak_gb": peak}


def compare(events: int, accounts: int, repeats: int, memory: str, rival: bool, text: bool) -> dict[str, Any]:
    """Alternate ingest and the rival on one file; report medians."""
    with tempfile.TemporaryDirectory(dir=".", prefix=".bench-") as folder:
        source = Path(folder) / "events.parquet"
        generate(source, events, accounts, text)
        ours, theirs = [], []
        for _ in range(repeats):
            if rival:
                theirs.append(measure(RIVAL, source, Path(folder) / "sorted.parquet", "3GB"))
            ours.append(measure(OURS, source, Path(folder) / "store", memory))
    seconds = statistics.median(run["seconds"] for run in ours)
    result = {
        "events": events,
        "accounts": accounts,
        "repeats": repeats,
        "memory": memory,
        "ids": "text" if text else "integers",
        "cores": len(os.sched_getaffinity(0)),
        "machine": platform.processor() or platform.machine(),
        "ingest_seconds": round(seconds, 2),
        "ingest_events_per_second": round(events / seconds),
        "ingest_peak_gb": round(max(run["peak_gb"] for run in ours), 2),
    }
    if rival:
        duckdb_seconds = statistics.median(run["seconds"] for run in theirs)
        result["duckdb_sort_seconds"] = round(duckdb_seconds, 2)
        result["duckdb_sort_peak_gb"] = round(max(run["peak_gb"] for run in theirs), 2)
        result["ratio"] = round(seconds / duckdb_seconds, 2)
    return result


def main() -> None:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=60_000_000)
    parser.add_argument("--accounts", type=int, default=3_000_000)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--no-rival", action="store_true", help="run only ingest")
    parser.add_argument("--text", action="store_true", help="ids are text of 42 characters")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = compare(
        options.events, options.accounts, options.repeats, options.memory, not options.no_rival, options.text
    )
    if options.json:
        print(json.dumps(result, indent=2))
        return
    for name, value in result.items():
        print(f"{name:<26} {value:,}" if isinstance(value, int | float) else f"{name:<26} {value}")


if __name__ == "__main__":
    main()
