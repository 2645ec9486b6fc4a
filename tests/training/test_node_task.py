"""Training from split to saved model: the same bytes again, after a kill, and only from what it may see."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.training.kills import Killed, killed_after, weights_digest

from gtea.errors import ModelError, UsageError
from gtea.scoring.scorer import NodeModel
from gtea.training.fit import train_task
from gtea.training.loop import no_report
from gtea.training.node_task import NodeTask

Make = Callable[..., NodeTask]


def test_the_same_seed_gives_the_same_bytes(run_of: Make) -> None:
    first, again = run_of("a"), run_of("b")
    train_task(first, no_report)
    train_task(again, no_report)
    assert weights_digest(first.folder) == weights_digest(again.folder)
    other = run_of("c", "train.seed=1")
    train_task(other, no_report)
    assert weights_digest(other.folder) != weights_digest(first.folder)


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_bytes(run_of: Make) -> None:
    """At every batch of three epochs, with a checkpoint after each batch or only after each epoch."""
    whole = run_of("whole")
    train_task(whole, no_report)
    for seconds in ("0", "1000"):
        for batches in range(1, 13, 2):
            run = run_of(f"killed-{seconds}-{batches}", f"train.checkpoint_seconds={seconds}")
            with pytest.raises(Killed):
                train_task(run, killed_after(batches))
            with pytest.raises(ModelError, match="is a run that has not finished"):
                NodeModel.open(run.folder, torch.device("cpu"))
            train_task(run, no_report, resume=True)
            assert weights_digest(run.folder) == weights_digest(whole.folder)
            assert (run.folder / "metrics.jsonl").read_text() == (whole.folder / "metrics.jsonl").read_text()


def test_workers_change_nothing(run_of: Make) -> None:
    digests = set()
    for workers in (0, 2):
        run = run_of(f"w{workers}", f"train.workers={workers}")
        train_task(run, no_report)
        digests.add(weights_digest(run.folder))
    assert len(digests) == 1


def test_a_resumed_run_must_be_the_same_run(run_of: Make) -> None:
    run = run_of("m")
    with pytest.raises(Killed):
        train_task(run, killed_after(2))
    with pytest.raises(UsageError, match=r"config.train.lr was 0.01 when the run began \(got 0.5\)"):
        train_task(run_of("m", "train.lr=0.5"), no_report, resume=True)
    record = run.folder / "run.json"
    begun = record.read_text()
    record.write_text(begun.replace('"arithmetic": "', '"arithmetic": "another '))
    with pytest.raises(UsageError, match="arithmetic was 'another "):
        train_task(run, no_report, resume=True)
    record.write_text(begun)
    with pytest.raises(UsageError, match="holds a run that has not finished"):
        train_task(run, no_report)
    with pytest.raises(ModelError, match="holds no run to resume"):
        train_task(run_of("elsewhere"), no_report, resume=True)


def test_every_variant_trains(run_of: Make) -> None:
    for encoder, time in (("lstm", "false"), ("transformer", "true"), ("statistics", "false")):
        run = run_of(encoder, f"model.encoder={encoder}", f"model.time_encoding={time}", "train.epochs=1")
        metrics = train_task(run, no_report).metrics
        assert 0 <= metrics["test"]["macro_f1"] <= 1


def test_the_model_card_says_what_happened(run_of: Make) -> None:
    run = run_of()
    model = train_task(run, no_report)
    card = (run.folder / "MODEL_CARD.md").read_text()
    assert f"{model.metrics['test']['macro_f1']:.4f}" in card
    assert run.store.digest in card
    assert "scores are the probability of 'illicit'" in card
    assert not (run.folder / "checkpoint.safetensors").exists()


@pytest.mark.parametrize("file", ["model.safetensors", "config.json", "preprocessing.json", "MODEL_CARD.md"])
def test_a_model_that_was_tampered_with_is_refused(run_of: Make, file: str) -> None:
    run = run_of("m", "train.epochs=1")
    train_task(run, no_report)
    path = run.folder / file
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ModelError, match="was changed or truncated"):
        NodeModel.open(run.folder, torch.device("cpu"))
    path.unlink()
    with pytest.raises(ModelError, match="is missing from the model"):
        NodeModel.open(run.folder, torch.device("cpu"))


def test_a_model_of_a_newer_version_is_refused(run_of: Make) -> None:
    run = run_of("m", "train.epochs=1")
    train_task(run, no_report)
    manifest = run.folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"format_version": 3', '"format_version": 9'))
    with pytest.raises(ModelError, match="has format version 9, and this gtea reads 2"):
        NodeModel.open(run.folder, torch.device("cpu"))


def test_models_of_the_version_before_open_unless_a_tree_spoke_first(run_of: Make) -> None:
    run = run_of("m", "train.epochs=1")
    train_task(run, no_report)
    now = NodeModel.open(run.folder, torch.device("cpu"))
    _as_version_2(run.folder, tree_first=False)
    then = NodeModel.open(run.folder, torch.device("cpu"))
    assert then.config == now.config
    _as_version_2(run.folder, tree_first=True)
    with pytest.raises(ModelError, match=r"is a gtea\+tree of an earlier kind .* train it again"):
        NodeModel.open(run.folder, torch.device("cpu"))


def _as_version_2(folder: Path, *, tree_first: bool) -> None:
    """What the gtea wrote that had ``model.tree_first`` instead of ``hybrid``."""
    config, manifest = (json.loads((folder / name).read_text()) for name in ("config.json", "manifest.json"))
    config["run"]["model"].pop("tree_beside", None)
    config["run"]["model"]["tree_first"] = tree_first
    text = json.dumps(config).encode()
    (folder / "config.json").write_bytes(text)
    manifest["format_version"] = 2
    manifest["files"]["config.json"] = hashlib.sha256(text).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
