"""What does ingest in parts cost, compared with one process? Processor time, bytes between tasks, memory.

    python benchmarks/bench_ingest_parts.py [--events 4000000] [--accounts 400000] [--files 4] [--text] [--csv]
                                            [--parts 1,4] [--workers 1] [--rounds 1] [--json out.json]

The events are those of ``bench_ingest.py``, cut into files. One process (``gtea ingest``, the rival) and a pool of
workers with each number of parts take turns, each in a process of its own. All stores must have the same bytes.

- cpu_s: user and system time of the process and all its workers, imports included.
- stages: processor seconds by stage, without imports and without the writing of the tasks' files.
- written_bytes: what tasks have written for each other, all of it on the shared file system.
- largest_task_gb: the largest peak of a worker's resident memory.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from bench_ingest import generate
from gtea.cluster.ingestion.ingest_parts import ingest_on
from gtea.cluster.local_pool import LocalPool
from gtea.cluster.schedule import Then
from gtea.cluster.tasks import FileTask, made_by
from gtea.ingestion.ingest import ingest
from gtea.runtime.progress import Progress


class MeasuredPool(LocalPool):
    """A pool that looks at the files of the tasks before they are deleted."""

    measured: dict[str, Any]

    def run(self, tasks: Sequence[FileTask], folder: Path, progress: Progress, then: Then | None = None) -> bool:
        """Run all tasks, then add up what they cost and wrote."""
        super().run(tasks, folder, progress, then)
        stages, peak = Counter[str](), 0
        for task in tasks:
            cost = made_by(folder, task.name).facts["cost"]
            stages[task.name.split(".")[0]] += cost["processor_seconds"]
            peak = max(peak, cost["peak_bytes_of_process"])
        self.measured = {
            "stages": {name: round(seconds, 2) for name, seconds in stages.items()},
            "written_bytes": sum(path.stat().st_size for path in folder.glob("*.part")),
            "largest_task_gb": round(peak / 1e9, 2),
        }
        return True


def run(options: argparse.Namespace) -> dict[str, Any]:
    """One ingest, in this process."""
    files = sorted(options.folder.glob(f"events-*.{'csv' if options.csv else 'parquet'}"))
    given: dict[str, Any] = {"src": "src", "dst": "dst", "time": "t", "features": ["amount"], "time_unit": "s"}
    out, measured = options.folder / "store", dict[str, Any]()
    if options.run == 0:
        store = ingest(files, out=out, overwrite=True, memory=options.memory, **given)
    else:
        pool = MeasuredPool(options.workers)
        made = ingest_on(pool, files, out=out, overwrite=True, memory=options.memory, parts=options.run, **given)
        assert made is not None, "a pool ends its own work"
        store, measured = made, pool.measured
    return {**measured, "digest": store.digest}


def compare(options: argparse.Namespace) -> dict[str, Any]:
    """Make the files, and take turns."""
    runs: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=".", prefix=".bench-") as name:
        folder = Path(name)
        generate(folder / "all.parquet", options.events, options.accounts, options.text)
        suffix = "csv" if options.csv else "parquet"
        for number in range(options.files):
            duckdb.sql(
                f"COPY (SELECT * FROM '{folder}/all.parquet' WHERE hash(t) % {options.files} = {number}) "
                f"TO '{folder}/events-{number}.{suffix}'"
            )
        for _ in range(options.rounds):
            for parts in (0, *map(int, options.parts.split(","))):
                words = [*sys.argv[1:], "--run", str(parts), "--folder", str(folder)]
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                done = subprocess.run(
                    [sys.executable, __file__, *words], check=True, stdout=subprocess.PIPE, text=True, env=os.environ
                )
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                runs.append({"parts": parts or None, "cpu_s": round(cpu, 1), **json.loads(done.stdout)})
    return {
        "events": options.events,
        "accounts": options.accounts,
        "files": options.files,
        "format": suffix,
        "ids": "text" if options.text else "integers",
        "workers": options.workers,
        "machine": platform.processor() or platform.machine(),
        "same_bytes": len({each.pop("digest") for each in runs}) == 1,
        "runs": runs,
    }


def main() -> None:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=4_000_000)
    parser.add_argument("--accounts", type=int, default=400_000)
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--text", action="store_true", help="ids are text of 42 characters")
    parser.add_argument("--csv", action="store_true", help="files of text instead of Parquet")
    parser.add_argument("--parts", default="1,4", help="numbers of parts, with commas")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--memory", default="2GB", help="of the process, and of each worker")
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--run", type=int, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run is not None:
        print(json.dumps(run(options)))
        return
    result = json.dumps(compare(options), indent=2)
    print(result)
    if options.json is not None:
        options.json.write_text(result + "\n")


if __name__ == "__main__":
    main()
