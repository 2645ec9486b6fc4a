"""Check that a refactoring doesn't change results: digests of stores, weights and scores for fixed seeds.

    python tools/digests.py record before.json      # before the change
    python tools/digests.py compare before.json     # after each step; exit code 1 if anything differs

The script uses only the command line, so it still works after modules have moved. Weights are compared as a set of
tensors, ignoring their names. Digests depend on the processor and on the versions of torch and NumPy, so record and
compare on the same machine.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "2")

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from safetensors.numpy import load_file

from gtea.cli.main import cli

ACCOUNT_MODELS = (
    *("gtea-l", "gtea-l+t", "gtea-tx", "gtea-tx+t", "gtea-he", None),
    *("gcn", "graphsage", "gat", "ecconv", "egnn", "tgat", "tree", "strong-tree"),
)
LINK_MODELS = (*ACCOUNT_MODELS, "edgebank")
EXACT = {"gtea-l", "gtea-l+t", "gtea-tx", "gtea-tx+t", "gtea-he", None}
SMALL = ("--set", "train.epochs=2", "--set", "train.seed=3", "--device", "cpu")


def gtea(*arguments: object) -> None:
    """Run a gtea command and discard its output."""
    with contextlib.redirect_stdout(io.StringIO()):
        cli.main([str(argument) for argument in arguments], prog_name="gtea", standalone_mode=False)


def main() -> int:
    """Record or compare digests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="", help="Only digests whose name contains this.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        digests = Digests(Path(folder), options.only).all()
    if options.action == "record":
        options.file.write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")
        print(f"{len(digests)} digests in {options.file}")
        return 0
    before = json.loads(options.file.read_text(encoding="utf-8"))
    changed = [name for name in digests if digests[name] != before.get(name)]
    for name in changed:
        print(f"differs: {name}")
    print(f"{len(digests) - len(changed)} of {len(digests)} digests are the same")
    return 1 if changed else 0


class Digests:
    """Creates stores, models and scores in a folder and hashes them."""

    def __init__(self, folder: Path, only: str) -> None:
        self.folder = folder
        self.only = only
        self.digests: dict[str, str] = {}

    def all(self) -> dict[str, str]:
        """All digests by name."""
        self.stores()
        for model in ACCOUNT_MODELS:
            self.accounts(model)
        for model in LINK_MODELS:
            self.links(model)
        for name, settings in EXTRA_SETTINGS.items():
            self.accounts(None, name, settings)
        self.folds()
        return self.digests

    def add(self, name: str, digest: Callable[[], str]) -> None:
        """Compute a digest and record it by name."""
        self.digests[name] = digest()
        print(f"{name}: {self.digests[name][:12]}", file=sys.stderr, flush=True)

    def stores(self) -> None:
        """Stores of generated payments and of a table with every kind of column, before and after an append."""
        payments = self.folder / "payments"
        gtea("synth", "payments", "--accounts", 600, "--events", 12_000, "--out", payments)
        columns: tuple[str, ...] = ("--src", "payer", "--dst", "payee", "--time", "timestamp", "--features", "amount")
        gtea("ingest", payments / "transactions.parquet", *columns, "--out", self.folder / "payments.store")
        self.add("store payments", lambda: store_digest(self.folder / "payments.store"))
        first, second, nodes = mixed_tables(self.folder)
        columns = ("--src", "a", "--dst", "b", "--time", "t", "--time-unit", "s", "--features", "x,y")
        more = ("--categorical", "kind", "--nodes", nodes, "--node-id", "id", "--node-features", "p,q")
        for name, extra in (("undirected", ()), ("directed", ("--directed", "--self-loops", "keep"))):
            out = self.folder / f"{name}.store"
            gtea("ingest", first, *columns, *more, *extra, "--out", out)
            self.add(f"store {name}", partial(store_digest, out))
            gtea("append", out, second)
            self.add(f"store {name} appended", partial(store_digest, out))

    def accounts(self, model: str | None, extra: str = "", settings: tuple[str, ...] = ()) -> None:
        """An account model: weights, metrics, and scores (exact, sampled, and as of an earlier date)."""
        name = f"accounts {model or 'default'}{extra and ' ' + extra}"
        if self.only not in name:
            return
        out, store = self.folder / name.replace(" ", "-"), self.folder / "payments.store"
        variant = () if model is None else ("--variant", model)
        gtea("train", store, "--labels", self.folder / "payments/labels.csv", *variant, *settings, *SMALL, "--out", out)
        self.add(f"{name}: weights", lambda: weights_digest(out))
        self.add(f"{name}: metrics", lambda: metrics_digest(out))
        for how, options in SCORES.items():
            scores = self.folder / "scores.csv"
            gtea("score", out, store, *options, "--device", "cpu", "--out", scores)
            self.add(f"{name}: scores {how}", partial(scores_digest, scores))

    def links(self, model: str | None) -> None:
        """A link model: weights, metrics, and scores of some pairs."""
        name = f"links {model or 'default'}"
        if self.only not in name:
            return
        out, store = self.folder / name.replace(" ", "-"), self.folder / "payments.store"
        variant = () if model is None else ("--variant", model)
        gtea("train", store, "--task", "links", *variant, *SMALL, "--out", out)
        self.add(f"{name}: weights", lambda: weights_digest(out))
        self.add(f"{name}: metrics", lambda: metrics_digest(out))
        pairs = self.folder / "pairs.csv"
        if not pairs.exists():
            payments = pq.read_table(self.folder / "payments/transactions.parquet").slice(0, 400)
            columns = {"src": payments["payer"], "dst": payments["payee"].take(pa.array(np.arange(400)[::-1]))}
            pacsv.write_csv(pa.table(columns), pairs)
        for how, options in SCORES.items():
            scores = self.folder / "pair_scores.csv"
            gtea("score", out, store, "--pairs", pairs, *options, "--device", "cpu", "--out", scores)
            self.add(f"{name}: scores {how}", partial(scores_digest, scores))

    def folds(self) -> None:
        """Stratified folds on stores with categorical columns and a node table."""
        labels = self.folder / "mixed_labels.csv"
        pacsv.write_csv(pa.table({"account": [str(i) for i in range(60)], "label": ["u", "v", "w"] * 20}), labels)
        for name in ("undirected", "directed"):
            out = self.folder / f"{name}-folds"
            gtea("train", self.folder / f"{name}.store", "--labels", labels, "--folds", 3, *SMALL, "--out", out)
            for fold in (1, 2, 3):
                self.add(f"folds {name} {fold}", partial(weights_digest, out / f"fold-{fold}"))


SCORES: dict[str, tuple[str, ...]] = {
    "exact": (),
    "sampled": ("--sampled",),
    "as of 2024-04-01": ("--as-of", "2024-04-01"),
}
EXTRA_SETTINGS: dict[str, tuple[str, ...]] = {
    "with rank inputs and neighbour labels": (
        "--set",
        "features.rank_inputs=true",
        "--set",
        "features.neighbour_labels=true",
    ),
}


def mixed_tables(folder: Path) -> tuple[Path, Path, Path]:
    """Two event tables with categories, ties, self-loops and repeated rows, and a node table."""
    rng = np.random.default_rng(0)
    count = 3_000
    table = pa.table(
        {
            "a": rng.integers(0, 60, count),
            "b": rng.integers(0, 60, count),
            "t": 1_600_000_000 + rng.integers(0, 50_000, count) * 100,
            "x": np.round(np.exp(rng.normal(size=count)), 2),
            "y": rng.integers(-3, 3, count),
            "kind": np.array(["card", "cash", "wire"])[rng.integers(0, 3, count)],
        }
    )
    paths = folder / "first.csv", folder / "second.csv", folder / "nodes.csv"
    pacsv.write_csv(table.slice(0, 2_000), paths[0])
    pacsv.write_csv(table.slice(2_000), paths[1])
    nodes = np.arange(0, 60, 2)
    pacsv.write_csv(pa.table({"id": nodes, "p": nodes * 0.5, "q": -nodes}), paths[2])
    return paths


def store_digest(store: Path) -> str:
    """The combined digest of all arrays of a store."""
    arrays: dict[str, Any] = json.loads((store / "manifest.json").read_text(encoding="utf-8"))["arrays"]
    return _sha256("".join(f"{name} {arrays[name]['sha256']}\n" for name in sorted(arrays)).encode())


def weights_digest(model: Path) -> str:
    """The digest of a model's tensors, ignoring their names."""
    tensors = load_file(model / "model.safetensors").values()
    rows = sorted(f"{t.dtype} {t.shape} {_sha256(np.ascontiguousarray(t).tobytes())}" for t in tensors)
    return _sha256("\n".join(rows).encode())


def metrics_digest(model: Path) -> str:
    """The digest of the validation and test metrics."""
    metrics = json.loads((model / "metrics.json").read_text(encoding="utf-8"))
    return _sha256(json.dumps([metrics[part] for part in ("validation", "test")], sort_keys=True).encode())


def scores_digest(path: Path) -> str:
    """The rows of a table of scores, without the column ``active``, which 0.1 did not have."""
    rows = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]
    if rows[0][-1] == '"active"':
        rows = [row[:-1] for row in rows]
    return _sha256("".join(",".join(row) + "\n" for row in rows).encode())


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
