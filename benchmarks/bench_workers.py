"""What does one training cost with 1, 2 and more workers? Seconds, processor time, bytes that cross per step.

    python benchmarks/bench_workers.py [--folder FOLDER] [--json out.json] [--accounts 20000] [--events 1000000]
                                       [--workers 0,1,2] [--micro-batches 4] [--batch-size 256] [--epochs 2]
                                       [--variant hybrid] [--rounds 1] [--set KEY=VALUE ...]

``gtea train`` as a user types it, on generated payments: 0 workers is one process, N are those of ``--on local:N``.
They take turns. Every model must have the same bytes.

- wall_s, cpu_s: of the command and all its workers, imports included; ``steps_s``: of the epochs alone.
- sent_bytes_per_step: what each worker receives from the others in a step: the gradients of their micro-batches.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from safetensors import safe_open

from gtea.datasets.payments import PaymentsSpec, write_payments
from gtea.ingestion.ingest import ingest


def main() -> None:
    """Train with each number of workers in turn, and print one line of figures for each."""
    asked = _asked()
    with tempfile.TemporaryDirectory(dir=asked.folder) as made:
        folder = Path(made)
        store, labels = _data(folder, asked)
        found: dict[int, list[dict[str, Any]]] = {count: [] for count in asked.workers}
        digests = set()
        for round_number in range(asked.rounds):
            for count in asked.workers:
                out = folder / f"m{count}-{round_number}"
                found[count].append(_trained(store, labels, out, count, asked))
                digests.add(hashlib.sha256((out / "model.safetensors").read_bytes()).hexdigest())
        if len(digests) > 1:
            sys.exit(f"bench_workers: all models must have the same bytes (got {len(digests)} different ones)")
        width = _row(out)
    figures = [
        {
            "workers": count,
            **{name: min(each[name] for each in runs) for name in runs[0]},
            "sent_bytes_per_step": _received(asked.micro_batches, count) * width * 4,
        }
        for count, runs in found.items()
    ]
    result = {
        "what": {name: value for name, value in vars(asked).items() if name not in ("folder", "json")},
        "machine": {"cores": os.cpu_count(), "load": os.getloadavg()[0], "machine": platform.machine()},
        "bytes_of_a_gradient": width * 4,
        "same_bytes": True,
        "runs": figures,
    }
    for line in figures:
        print(line)
    if asked.json:
        asked.json.write_text(json.dumps(result, indent=1) + "\n")


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--json", type=Path)
    for name, default in (("accounts", 20_000), ("events", 1_000_000), ("micro-batches", 4), ("batch-size", 256)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--variant", default="hybrid")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--workers", type=lambda text: [int(each) for each in text.split(",")], default=[0, 1, 2])
    return parser.parse_args()


def _data(folder: Path, asked: argparse.Namespace) -> tuple[Path, Path]:
    events, labels = write_payments(PaymentsSpec(accounts=asked.accounts, events=asked.events), folder)
    store = folder / "store"
    ingest(events, src="payer", dst="payee", time="timestamp", features=["amount"], time_unit="s", out=store)
    return store, labels


def _trained(store: Path, labels: Path, out: Path, workers: int, asked: argparse.Namespace) -> dict[str, Any]:
    settings = [
        f"train.epochs={asked.epochs}",
        f"train.micro_batches={asked.micro_batches}",
        f"sampling.batch_size={asked.batch_size}",
        *asked.set,
    ]
    command = [
        *(sys.executable, "-m", "gtea", "train", str(store), "--labels", str(labels), "--out", str(out)),
        *("--variant", asked.variant, "--device", "cpu"),
        *(word for setting in settings for word in ("--set", setting)),
        *(("--on", f"local:{workers}") if workers else ()),
    ]
    started, before = time.perf_counter(), os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    seconds = json.loads((out / "manifest.json").read_text())["seconds"]
    return {
        "wall_s": round(time.perf_counter() - started, 1),
        "cpu_s": round(spent, 1),
        "steps_s": seconds["training"],
    }


def _row(model: Path) -> int:
    """The length of a row: the numbers of the network without trees and blend, a mark for each tensor, two figures."""
    with safe_open(model / "model.safetensors", "np") as file:
        shapes = {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118 - not a dict
    total = 2
    for name, shape in shapes.items():
        if not name.startswith(("tree.", "wide_tree.", "blend.")):
            size = 1
            for length in shape:
                size *= length
            total += size + 1
    return total


def _received(micro_batches: int, workers: int) -> int:
    """The rows that each worker gets from others, those sent as filling included."""
    return 0 if workers < 2 else (workers - 1) * -(-micro_batches // workers)


if __name__ == "__main__":
    main()
