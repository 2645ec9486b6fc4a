"""Models on disk: what was changed is refused, and what gtea 0.1 wrote gives the scores that it gave."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tests.training.test_baselines import CPU, SMALL, habits, labels_in, payers, stored

from gtea.config import ModelConfig, RunConfig, read_config
from gtea.errors import ModelError
from gtea.features.preprocessing import Preprocessing
from gtea.models.model_folder import FORMAT_VERSION, load_model
from gtea.models.registry import default_config, model_config
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.store.store import Store
from gtea.tasks.labels import positive_class
from gtea.tasks.link_split import split_links
from gtea.tasks.splits import temporal_split
from gtea.training.fit import train_task
from gtea.training.link_task import LinkTask
from gtea.training.loop import no_report
from gtea.training.node_task import NodeTask

QUICK = (*SMALL, "model.d_edge=8", "train.epochs=1")
OLD_FEATURES = {
    "recency": "ages",
    "net_flow": "flows",
    "pair_statistics": "pairs",
    "rank_inputs": "ranks",
    "neighbour_labels": "known",
    "time_origin": "clock",
}
OLD_PREPROCESSING = {"pair_statistics": "pairs", "rank_inputs": "ranks", "neighbour_labels": "known"}
OLD_INPUT = {"d_head_inputs": "d_ranks", "d_neighbour_labels": "d_known"}


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stored(payers(), tmp_path_factory.mktemp("shops") / "s")


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stored(habits(), tmp_path_factory.mktemp("habits") / "s")


def node_model(shops: Store, folder: Path, name: str, *settings: str) -> Path:
    labels = labels_in(shops)
    config = read_config(None, [*QUICK, *settings], default_config(model_config(name), "nodes"))
    split, positive = temporal_split(labels, shops), positive_class(labels, "big")
    train_task(NodeTask(shops, labels, positive, split, config, folder, CPU), no_report)
    return folder


def link_model(visits: Store, folder: Path, name: str, *settings: str) -> Path:
    config = read_config(None, [*QUICK, *settings], default_config(model_config(name), "links"))
    train_task(LinkTask(visits, split_links(visits), config, folder, CPU), no_report)
    return folder


def node_scores(folder: Path, shops: Store) -> NDArray[np.float64]:
    return NodeModel.open(folder, CPU).probabilities(shops, shops.end, np.arange(shops.num_nodes))


def link_scores(folder: Path, visits: Store) -> NDArray[np.float64]:
    src = np.array([visits.node(f"u{user:02}") for user in range(24)])
    dst = np.array([visits.node(f"i{user % 6}") for user in range(24)])
    return LinkModel.open(folder, CPU).probabilities(visits, visits.end, src, dst)


def renamed(content: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in content.items()}


def rewrite(folder: Path, version: int, **files: dict[str, Any]) -> None:
    """Replace JSON files of a model, and its manifest with them."""
    manifest = json.loads((folder / "manifest.json").read_text())
    for name, content in files.items():
        text = json.dumps(content).encode()
        (folder / f"{name}.json").write_bytes(text)
        manifest["files"][f"{name}.json"] = hashlib.sha256(text).hexdigest()
    manifest["format_version"] = version
    (folder / "manifest.json").write_text(json.dumps(manifest))


def as_old(folder: Path, version: int, model: dict[str, Any] | None = None, **features: Any) -> None:
    """Write a model as gtea 0.1 did.

    Args:
        model: More settings of the model, as they were.
        features: More settings of the features, as they were.
    """
    config, preprocessing = (json.loads((folder / f"{name}.json").read_text()) for name in ("config", "preprocessing"))
    run = config["run"]
    if run["model"]["family"] == "hybrid":
        run["model"] |= {"family": "gtea", "tree_beside": True}
    elif version == 3:
        run["model"]["tree_beside"] = False
    run["model"] |= model or {}
    run["features"] = {**renamed(run["features"], OLD_FEATURES), "gaps": True, **features}
    run["train"] |= {"workers": 1, "checkpoint_seconds": 30.0, "clip_norm": 5.0}
    run["split"] |= {"kind": "temporal", "folds": 5, "fold": 0, "graph_fraction": 0.5}
    config["input"] = renamed(config["input"], OLD_INPUT)
    preprocessing = renamed(preprocessing, OLD_PREPROCESSING)
    for name in ("pairs", "ranks"):
        if preprocessing[name]:
            preprocessing[name]["with_none"] = preprocessing[name].pop("with_nan")
    events = preprocessing["events"]
    events["clock"] = events.pop("time_origin")
    events["with_gap"] = True
    rewrite(folder, version, config=config, preprocessing=preprocessing)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("hybrid", ()),
        ("hybrid", ("features.neighbour_labels=true", "features.rank_inputs=true", "features.recency=true")),
        ("gtea-tx+t", ("features.rank_inputs=true", "features.time_origin=calendar", "features.net_flow=false")),
        ("gcn", ()),
        ("tree", ("features.neighbour_labels=true",)),
    ],
)
def test_account_models_of_format_3_score_as_before(
    shops: Store, tmp_path: Path, name: str, settings: tuple[str, ...]
) -> None:
    folder = node_model(shops, tmp_path / "m", name, *settings)
    now, scores = load_model(folder), node_scores(folder, shops)
    as_old(folder, 3)
    then = load_model(folder)
    assert then.config == now.config
    assert Preprocessing.from_json(then.preprocessing) == Preprocessing.from_json(now.preprocessing)
    assert node_scores(folder, shops).tobytes() == scores.tobytes()


@pytest.mark.parametrize("name", ["hybrid", "gtea-l", "tgat", "tree", "edgebank"])
def test_link_models_of_format_3_score_as_before(visits: Store, tmp_path: Path, name: str) -> None:
    folder = link_model(visits, tmp_path / "m", name)
    now, scores = load_model(folder), link_scores(folder, visits)
    as_old(folder, 3)
    assert load_model(folder).config == now.config
    assert link_scores(folder, visits).tobytes() == scores.tobytes()


def test_models_of_format_2_open_unless_their_trees_came_first(shops: Store, tmp_path: Path) -> None:
    folder = node_model(shops, tmp_path / "m", "gtea-l+t")
    now, scores = NodeModel.open(folder, CPU), node_scores(folder, shops)
    as_old(folder, 2, {"tree_first": False})
    assert NodeModel.open(folder, CPU).config == now.config
    assert node_scores(folder, shops).tobytes() == scores.tobytes()


@pytest.mark.parametrize(("model", "features"), [({"tree_first": True}, {}), ({}, {"gaps": False})])
def test_settings_that_are_gone_are_refused(
    shops: Store, tmp_path: Path, model: dict[str, Any], features: dict[str, Any]
) -> None:
    folder = node_model(shops, tmp_path / "m", "gtea-l+t")
    as_old(folder, 2, model, **features)
    with pytest.raises(
        ModelError,
        match=r"was trained by an early version of gtea with settings that no longer exist\. .* train it again",
    ):
        NodeModel.open(folder, CPU)


def test_the_earliest_models_say_less(visits: Store, tmp_path: Path) -> None:
    """Before there were ``flows``, ``clock``, ``with_none`` and neighbour labels."""
    folder = link_model(visits, tmp_path / "m", "gtea-l", "features.net_flow=false")
    as_old(folder, 2)
    config, preprocessing = (json.loads((folder / f"{name}.json").read_text()) for name in ("config", "preprocessing"))
    for name in ("flows", "clock", "known"):
        del config["run"]["features"][name]
    del preprocessing["events"]["clock"]
    del preprocessing["pairs"]["with_none"]
    del preprocessing["known"]
    rewrite(folder, 2, config=config, preprocessing=preprocessing)
    found = LinkModel.open(folder, CPU)
    assert not found.config.features.net_flow
    assert found.preprocessing.events.time_origin == "pair"
    scaler = found.preprocessing.pair_statistics
    assert scaler is not None
    assert not scaler.with_nan
    assert scaler.transform(np.full((1, len(scaler.names)), np.inf)).max() == 1
    assert np.isfinite(link_scores(folder, visits)).all()


@pytest.fixture(scope="module")
def trained(shops: Store, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = node_model(shops, tmp_path_factory.mktemp("trained") / "m", "gtea-l+t")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def folder(trained: dict[str, bytes], tmp_path: Path) -> Path:
    """A model that a test may spoil."""
    for name, content in trained.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize(
    "file", ["model.safetensors", "config.json", "preprocessing.json", "metrics.json", "MODEL_CARD.md"]
)
def test_a_model_that_was_tampered_with_is_refused(folder: Path, file: str) -> None:
    path = folder / file
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ModelError, match="was changed or truncated"):
        NodeModel.open(folder, CPU)
    path.unlink()
    with pytest.raises(ModelError, match="is missing from the model"):
        NodeModel.open(folder, CPU)


def test_a_model_of_a_newer_version_is_refused(folder: Path) -> None:
    manifest = folder / "manifest.json"
    current = f'"format_version": {FORMAT_VERSION}'
    assert current in manifest.read_text()
    manifest.write_text(manifest.read_text().replace(current, '"format_version": 9'))
    with pytest.raises(
        ModelError, match=r"has format version 9, and this gtea reads 2 and 3 and 4\. Use the gtea that"
    ):
        NodeModel.open(folder, CPU)


def test_a_manifest_must_name_every_file(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["files"]["metrics.json"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelError, match=r"its manifest must name .* \(got none for metrics\.json\)"):
        load_model(folder)


def test_a_folder_that_is_no_model(folder: Path, tmp_path: Path) -> None:
    (folder / "manifest.json").write_text("{")
    with pytest.raises(ModelError, match=r"manifest\.json: can't be read"):
        load_model(folder)
    (folder / "manifest.json").write_text('{"format": "something"}')
    with pytest.raises(ModelError, match="is not a gtea model"):
        load_model(folder)
    (folder / "manifest.json").unlink()
    with pytest.raises(ModelError, match="is a run that has not finished"):
        load_model(folder)
    (folder / "run.json").unlink()
    with pytest.raises(ModelError, match=r"is not a model \(it has no manifest\.json\)"):
        load_model(folder)
    with pytest.raises(ModelError, match="no such model"):
        load_model(tmp_path / "nowhere")


def test_weights_of_another_size_are_refused(folder: Path) -> None:
    saved = load_model(folder)
    config = json.loads(json.dumps(saved.config))
    config["run"]["model"]["d_node"] = 16
    rewrite(folder, FORMAT_VERSION, config=config)
    with pytest.raises(ModelError, match="its weights do not fit its configuration"):
        NodeModel.open(folder, CPU)
    assert RunConfig(ModelConfig()).model.d_node != 8
    assert all(torch.isfinite(weight).all() for weight in saved.weights.values() if weight.is_floating_point())
