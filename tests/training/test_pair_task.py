"""Link models from labelled pairs: the same bytes again, and every model that predicts links."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.training.kills import Killed, killed_after, weights_digest
from tests.training.test_baselines import CPU, SMALL, habits, stored

from gtea.config import read_config
from gtea.models.registry import default_config, model_config
from gtea.scoring.options import ScoringOptions
from gtea.scoring.scorer import LinkModel
from gtea.store.store import Store
from gtea.tasks.pair_split import split_pairs
from gtea.tasks.pairs import pairs_from_arrays
from gtea.training.fit import train_task
from gtea.training.loop import no_report
from gtea.training.pair_task import PairTask, _pairs_digest


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stored(habits(), tmp_path_factory.mktemp("habits") / "s")


def task(store: Store, folder: Path, model: str = "hybrid", *, exchanged: bool = False) -> PairTask:
    """Users and items: those that go together, and those that do not."""
    users = np.arange(24).repeat(8)
    items = np.tile(np.arange(8), 24)
    src = np.array([store.node(f"u{user:02}") for user in users])
    dst = np.array([store.node(f"i{item}") for item in items])
    together = np.isin((items - users) % 8, [0, 2, 4]).astype(np.int64)
    if exchanged:
        together[:2] = 1 - together[:2]
    pairs = pairs_from_arrays(src, dst, together, ("no", "yes"), store, "y", np.ones(len(src)))
    config = read_config(None, [*SMALL, "model.d_edge=8"], default_config(model_config(model), "links"))
    split = split_pairs(pairs, store, fraction=0.25, seed=0)
    return PairTask(store, pairs, split, config, folder, CPU)


@pytest.mark.parametrize("model", ["hybrid", "gtea-he", "graphsage", "tree", "edgebank"])
def test_habits_are_learnt(visits: Store, tmp_path: Path, model: str) -> None:
    made = train_task(task(visits, tmp_path / "m", model), no_report)
    assert (made.config["classes"], made.config["positive"]) == (["no", "yes"], "yes")
    least = 0.5 if model == "graphsage" else 0.9
    assert made.metrics["validation"]["roc_auc"] > least
    assert "test" not in made.metrics
    assert "There was no test part" in (tmp_path / "m" / "MODEL_CARD.md").read_text()


def test_a_killed_run_goes_on_to_the_same_bytes(visits: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, killed = task(visits, tmp_path / "whole"), task(visits, tmp_path / "killed")
    train_task(whole, no_report)
    monkeypatch.setenv("GTEA_CHECKPOINT_SECONDS", "0")
    with pytest.raises(Killed):
        train_task(killed, killed_after(2))
    train_task(killed, no_report, resume=True)
    assert weights_digest(killed.folder) == weights_digest(whole.folder)


def test_other_labels_are_another_run(visits: Store, tmp_path: Path) -> None:
    one, other = task(visits, tmp_path / "a"), task(visits, tmp_path / "a", exchanged=True)
    assert _pairs_digest(one.pairs, visits) == _pairs_digest(task(visits, tmp_path / "b").pairs, visits)
    assert _pairs_digest(one.pairs, visits) != _pairs_digest(other.pairs, visits)


@pytest.mark.parametrize("model", ["hybrid", "gtea-he"])
def test_predictions_are_those_of_the_saved_model_without_class_weights(
    visits: Store, tmp_path: Path, model: str
) -> None:
    run = task(visits, tmp_path / "m", model)
    made = train_task(run, no_report)
    assert made.predictions is not None
    halves = ["network", "trees"] if model == "hybrid" else []
    assert made.predictions.column_names == ["part", "src", "dst", "target", "p", *halves]
    assert set(made.predictions["part"].to_pylist()) == {"validation"}
    index = run.split.validation.index
    assert run.pairs.targets is not None
    assert made.predictions["target"].to_pylist() == run.pairs.targets[index].tolist()
    ends, sampled = (run.pairs.src[index], run.pairs.dst[index]), ScoringOptions(sampled=True)
    found = LinkModel.open(run.folder, CPU).probabilities(visits, run.split.validation.as_of, *ends, sampled)
    # Pairs are answered by the trees that had not seen them: those before the last fit.
    assert np.allclose(found, made.predictions["p"], atol=1e-4) == (model != "hybrid")
    counts = np.bincount(run.pairs.targets[run.split.train.index])
    assert made.calibration is not None
    assert made.calibration["shares"] == pytest.approx(counts / counts.sum())
    assert made.calibration["class_weights"] == pytest.approx(counts.sum() / (2 * counts), rel=1e-6)
