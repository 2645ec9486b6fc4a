"""A canary: accounts that only the future gives away can't be told apart before it, and can after it.

Labels are dealt at random and nothing before the cut depends on them; from the cut on, the guilty pay a sum that nobody
else does. Judged on 300 accounts of each class that training never saw, a model that knows nothing has a ROC-AUC of
0.5 with a standard deviation of sqrt((n + m + 1) / 12nm) = 0.024: being off by more than 0.1 is a leak, not chance.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from gtea.config import read_config
from gtea.estimators.classifier import GTEAClassifier
from gtea.ingestion.ingest import ingest
from gtea.store.store import Store
from gtea.tasks.link_split import split_links
from gtea.training.fit import train_task
from gtea.training.link_task import LinkTask
from gtea.training.loop import no_report

CUT, END = 1_000, 2_000
ACCOUNTS, TRAINED = 800, 200
SETTINGS = (
    "model.d_node=8", "model.d_edge=8", "model.d_mlp=8", "model.d_time=4", "sampling.fanout=4", "sampling.max_events=8",
    "train.epochs=8", "train.lr=0.02",
)  # fmt: skip


@dataclass(frozen=True)
class Canary:
    store: Store
    accounts: NDArray[np.str_]
    guilty: NDArray[np.bool_]
    folder: Path

    def labels(self, part: slice) -> Path:
        """A labels file of some of the accounts."""
        path = self.folder / f"{part.start}.csv"
        rows = [
            (name, ("ok", "guilty")[int(bad)]) for name, bad in zip(self.accounts[part], self.guilty[part], strict=True)
        ]
        with path.open("w", newline="") as stream:
            csv.writer(stream).writerows([("account", "label"), *rows])
        return path


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def canary(tmp_path_factory: pytest.TempPathFactory) -> Canary:
    rng = np.random.default_rng(7)
    folder, accounts = tmp_path_factory.mktemp("canary"), np.array([f"c{i:03}" for i in range(ACCOUNTS)])
    guilty = np.concatenate([rng.permutation(np.arange(n) % 2 == 0) for n in (TRAINED, ACCOUNTS - TRAINED)])
    src = np.tile(np.arange(ACCOUNTS), 6)
    dst = (src + rng.integers(1, ACCOUNTS, len(src))) % ACCOUNTS
    time = np.where(
        np.arange(len(src)) < 4 * ACCOUNTS, rng.integers(0, CUT, len(src)), rng.integers(CUT, END, len(src))
    )
    amount = np.where(guilty[src] & (time >= CUT), 5_000, rng.lognormal(3, 1, len(src)))
    table = pa.table({"src": accounts[src], "dst": accounts[dst], "time": time, "amount": amount})
    store = ingest(table, src="src", dst="dst", time="time", features=["amount"], time_unit="step", out=folder / "s")
    return Canary(store, accounts, guilty, folder)


def judge(auc: float, as_of: int) -> None:
    if as_of == CUT:
        assert abs(auc - 0.5) < 0.1
    else:
        assert auc > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("as_of", [CUT, END])
def test_through_the_shell(gtea: Callable[..., Any], canary: Canary, tmp_path: Path, as_of: int) -> None:
    words = [word for setting in SETTINGS for word in ("--set", setting)]
    known, unseen = canary.labels(slice(0, TRAINED)), canary.labels(slice(TRAINED, ACCOUNTS))
    model, when = tmp_path / "m", ("--as-of", as_of)
    trained = gtea("train", canary.store.path, "--labels", known, *when, *words, "--folds", 3, "--out", model)
    assert trained.code == 0, trained.err
    evaluated = gtea("evaluate", model / "fold-1", canary.store.path, "--labels", unseen, *when, "--json")
    judge(json.loads(evaluated.out)["metrics"]["roc_auc"], as_of)


@pytest.mark.slow
@pytest.mark.parametrize("as_of", [CUT, END])
def test_through_the_estimator(canary: Canary, as_of: int) -> None:
    sizes: dict[str, Any] = {
        "d_node": 8,
        "d_edge": 8,
        "fanout": 4,
        "max_events": 8,
        "epochs": 8,
        "lr": 0.02,
        "device": "cpu",
    }
    model = GTEAClassifier(canary.store, as_of=as_of, **sizes)
    model.fit(canary.accounts[:TRAINED], canary.guilty[:TRAINED])
    chances = model.predict_proba(canary.accounts[TRAINED:])[:, 1]
    judge(float(roc_auc_score(canary.guilty[TRAINED:], chances)), as_of)


@pytest.mark.slow
def test_links_that_nothing_foretells(tmp_path: Path) -> None:
    """Every pair meets once, at a random time: whoever foretells the last 400 from their past has seen them.

    That links can be learnt where the past does foretell them is shown in test_links.
    """
    rng = np.random.default_rng(3)
    pairs = rng.choice(80 * 80, 4_000, replace=False)
    src, dst = np.char.add("u", (pairs // 80).astype(str)), np.char.add("i", (pairs % 80).astype(str))
    table = pa.table({"src": src, "dst": dst, "time": np.arange(4_000), "amount": rng.normal(size=4_000)})
    store = ingest(table, src="src", dst="dst", time="time", features=["amount"], time_unit="step", out=tmp_path / "s")
    config = read_config(None, [*SETTINGS[:-2], "train.epochs=2", "model.link_head=pair", "train.metric=roc_auc"])
    run = LinkTask(store, split_links(store), config, tmp_path / "m", torch.device("cpu"))
    assert len(run.split.test) == 400
    assert abs(train_task(run, no_report).metrics["test"]["roc_auc"] - 0.5) < 0.1
