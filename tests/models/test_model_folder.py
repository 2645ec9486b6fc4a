"""Models on disk: what was changed is refused, and what gtea 0.1 wrote gives the scores that it gave."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import save
from tests.training.test_baselines import CPU, SMALL, habits, labels_in, payers, stored

from gtea.config import InputSpec, ModelConfig, RunConfig, read_config
from gtea.errors import ModelError
from gtea.features.neighbour_labels import NeighbourLabelShares
from gtea.features.node_features import NodeFeatures
from gtea.features.pair_statistics import PAIR_STATISTICS, PairStatistics
from gtea.features.preprocessing import Preprocessing
from gtea.features.scaling import RankScaler, fit_ranks
from gtea.models.boosted_trees import BoostedTrees, PairBoostedTrees
from gtea.models.model_folder import FORMAT_VERSION, SavedModel, load_model
from gtea.models.registry import default_config, model_config
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.store.graph import graph_of
from gtea.store.store import Store
from gtea.store.view import View
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


def node_scores(model: NodeModel, shops: Store) -> NDArray[np.float64]:
    return model.probabilities(shops, shops.end, np.arange(shops.num_nodes))


def some_pairs(visits: Store) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    src = np.array([visits.node(f"u{user:02}") for user in range(24)])
    return src, np.array([visits.node(f"i{user % 6}") for user in range(24)])


def link_scores(model: LinkModel, visits: Store) -> NDArray[np.float64]:
    return model.probabilities(visits, visits.end, *some_pairs(visits))


def renamed(content: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in content.items()}


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Write a manifest with the digest of itself, as everybody can."""
    content = {name: value for name, value in manifest.items() if name != "sha256"}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps({**content, "sha256": digest}))


def rewrite(folder: Path, version: int, **files: dict[str, Any]) -> None:
    """Replace JSON files of a model, and its manifest with them."""
    manifest = json.loads((folder / "manifest.json").read_text())
    for name, content in files.items():
        text = json.dumps(content).encode()
        (folder / f"{name}.json").write_bytes(text)
        manifest["files"][f"{name}.json"] = hashlib.sha256(text).hexdigest()
    manifest["format_version"] = version
    write_manifest(folder, manifest)


OLD_FILES = {"model.safetensors", "config.json", "preprocessing.json", "metrics.json", "MODEL_CARD.md"}


def of_gtea_0_1(model: SavedModel, trees: BoostedTrees | None, pairs: RankScaler | None) -> SavedModel:
    """A model without what gtea 0.1 did not know, in the current names.

    Args:
        trees: The only set of trees, if the model is a hybrid: it read all node features and neighbour labels, or the
            ranks of pair statistics in clock time.
        pairs: Ranks of these statistics, if the model reads them.
    """
    config, preprocessing = (json.loads(json.dumps(part)) for part in (model.config, model.preprocessing))
    for name in ("d_tree_inputs", "d_own_features"):
        del config["input"][name]
    for name in ("tree_nodes", "events_per_unit"):
        del preprocessing[name]
    for name in ("partners", "rhythm"):
        del preprocessing["nodes"][name]
    preprocessing["pair_statistics"] = None if pairs is None else json.loads(json.dumps(pairs.to_json()))
    weights = model.weights
    if trees is not None:
        added = ("blend.", "tree.", "wide_tree.")
        weights = {name: tensor for name, tensor in weights.items() if not name.startswith(added)}
        weights |= {f"tree.{name}": tensor for name, tensor in trees.state_dict().items()}
    metrics = {"threshold": 0.4, **model.metrics} if config["task"] == "links" else model.metrics
    return SavedModel(weights, config, preprocessing, metrics, model.facts)


def write_old(
    folder: Path, model: SavedModel, version: int, settings: dict[str, Any] | None = None, **features: Any
) -> None:
    """Write a model into the folder of a new one, as gtea 0.1 did.

    Args:
        settings: More settings of the model, as they were.
        features: More settings of the features, as they were.
    """
    manifest = json.loads((folder / "manifest.json").read_text())
    for name in set(manifest["files"]) - OLD_FILES:
        (folder / name).unlink()
        del manifest["files"][name]
    (folder / "model.safetensors").write_bytes(save(model.weights))
    manifest["files"]["model.safetensors"] = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    config, preprocessing = (json.loads(json.dumps(part)) for part in (model.config, model.preprocessing))
    if version < 4:
        config, preprocessing = in_old_names(config, preprocessing, version, settings or {}, features)
    rewrite(folder, version, config=config, preprocessing=preprocessing, metrics=model.metrics)


def in_old_names(
    config: dict[str, Any], preprocessing: dict[str, Any], version: int, model: dict[str, Any], features: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Those of formats 2 and 3."""
    run = config["run"]
    if run["model"]["family"] == "hybrid":
        run["model"] |= {"family": "gtea", "tree_beside": True}
    elif version == 3:
        run["model"]["tree_beside"] = False
    run["model"] |= model
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
    return config, preprocessing


def same(found: SavedModel, expected: SavedModel) -> None:
    """That a model was read as it was, whatever the names were then."""
    assert InputSpec(**found.config["input"]) == InputSpec(**expected.config["input"])
    assert found.config["run"] == expected.config["run"]
    assert Preprocessing.from_json(found.preprocessing) == Preprocessing.from_json(expected.preprocessing)
    assert (found.calibration, found.thresholds, found.predictions) == (None, None, None)


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("gtea-tx+t", ("features.rank_inputs=true", "features.time_origin=calendar", "features.net_flow=false")),
        ("gcn", ()),
        ("tree", ("features.neighbour_labels=true",)),
    ],
)
def test_old_account_models_score_as_before(
    shops: Store, tmp_path: Path, name: str, settings: tuple[str, ...], version: int
) -> None:
    folder = node_model(shops, tmp_path / "m", name, *settings)
    old = of_gtea_0_1(load_model(folder), None, None)
    scores = node_scores(NodeModel(old, CPU), shops)
    write_old(folder, old, version)
    assert {path.name for path in folder.iterdir()} >= OLD_FILES
    same(load_model(folder), old)
    model = NodeModel.open(folder, CPU)
    assert node_scores(model, shops).tobytes() == scores.tobytes()
    assert model.threshold is None
    assert model.decide(scores).tolist() == scores.argmax(axis=1).tolist()


def raw_logits(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.log(probabilities[:, 1]) - np.log(probabilities[:, 0]))


def as_gtea(model: SavedModel) -> SavedModel:
    """The network of a hybrid alone."""
    weights = {name: tensor for name, tensor in model.weights.items() if not name.startswith(("tree.", "blend."))}
    run = {**model.config["run"], "model": {**model.config["run"]["model"], "family": "gtea"}}
    return replace(model, weights=weights, config={**model.config, "run": run})


@pytest.mark.parametrize("version", [3, 4])
@pytest.mark.parametrize(
    "settings",
    [
        ("features.neighbour_labels=false",),
        ("features.neighbour_labels=true", "features.rank_inputs=true", "features.recency=true"),
    ],
)
def test_old_hybrids_of_accounts_are_the_mean_of_their_logits(
    shops: Store, tmp_path: Path, settings: tuple[str, ...], version: int
) -> None:
    folder = node_model(shops, tmp_path / "m", "hybrid", *settings)
    new = load_model(folder)
    rows = old_tree_inputs(new, shops.as_of(None), np.arange(shops.num_nodes))
    trees = BoostedTrees(rows.shape[1], 2, 0)
    # They look at labels of neighbours, which are the last columns, if there are any.
    column = rows.shape[1] - 1 if new.preprocessing["neighbour_labels"] else int(rows.std(dim=0).argmax())
    trees.fit(rows, (rows[:, column] > rows[:, column].median()).long(), torch.ones(len(rows)))
    assert column in cast(torch.Tensor, trees.node_feature).tolist()
    old = of_gtea_0_1(new, trees, None)
    write_old(folder, old, version)
    same(load_model(folder), old)
    model = NodeModel.open(folder, CPU)
    network = raw_logits(node_scores(NodeModel(as_gtea(old), CPU), shops))
    leaves = trees(rows).clamp(-12, 12).numpy()
    expected = (network + leaves[:, 1] - leaves[:, 0]) / 2
    np.testing.assert_allclose(raw_logits(node_scores(model, shops)), expected, atol=1e-4)
    assert model.threshold is None


def old_tree_inputs(model: SavedModel, view: View, nodes: NDArray[np.int64]) -> torch.Tensor:
    """All node features and neighbour labels of the network."""
    fitted = Preprocessing.from_json(model.preprocessing)
    columns: list[NDArray[Any]] = [NodeFeatures(view, fitted.nodes).compute(nodes)]
    if fitted.neighbour_labels is not None:
        columns.append(np.sqrt(NeighbourLabelShares(view, fitted.neighbour_labels).rows(nodes)).astype(np.float32))
    return torch.from_numpy(np.concatenate(columns, axis=1))


def clock_statistics(model: SavedModel, view: View) -> PairStatistics:
    """Pair statistics as they were: in seconds or steps, not in events."""
    fitted = Preprocessing.from_json(model.preprocessing)
    return PairStatistics(graph_of(view), fitted.times.stored_per_unit(view.store.unit))


def clock_ranks(model: SavedModel, visits: Store) -> RankScaler | None:
    if model.preprocessing["pair_statistics"] is None:
        return None
    view = visits.as_of(visits.end)
    ends = (end.astype(np.int64) for end in (view.arrays.edge_a, view.arrays.edge_b))
    return fit_ranks(PAIR_STATISTICS, clock_statistics(model, view).rows(*ends), with_nan=True)


@pytest.mark.parametrize(
    ("name", "version"),
    [*((name, 3) for name in ("gtea-l", "tgat", "tree", "edgebank")), ("gtea-l", 2), ("gtea-l", 4), ("tree", 4)],
)
def test_old_link_models_score_as_before(visits: Store, tmp_path: Path, name: str, version: int) -> None:
    folder = link_model(visits, tmp_path / "m", name)
    new = load_model(folder)
    old = of_gtea_0_1(new, None, clock_ranks(new, visits))
    scores = link_scores(LinkModel(old, CPU), visits)
    write_old(folder, old, version)
    same(load_model(folder), old)
    model = LinkModel.open(folder, CPU)
    assert link_scores(model, visits).tobytes() == scores.tobytes()
    assert model.threshold is None
    view = visits.as_of(200)
    made = model.preprocessing.pair_statistics_of(view).rows(*some_pairs(visits))
    np.testing.assert_array_equal(made, clock_statistics(old, view).rows(*some_pairs(visits)))
    assert not np.array_equal(
        made, Preprocessing.from_json(new.preprocessing).pair_statistics_of(view).rows(*some_pairs(visits))
    )


@pytest.mark.parametrize("version", [3, 4])
def test_old_hybrids_of_links_are_the_mean_of_their_logits(visits: Store, tmp_path: Path, version: int) -> None:
    folder = link_model(visits, tmp_path / "m", "hybrid")
    new = load_model(folder)
    scaler = clock_ranks(new, visits)
    assert scaler is not None
    view, (src, dst) = visits.as_of(visits.end), some_pairs(visits)
    rows = torch.from_numpy(scaler.transform(clock_statistics(new, view).rows(src, dst)))
    trees = PairBoostedTrees(len(PAIR_STATISTICS), 0)
    trees.fit(rows.repeat(3, 1), torch.arange(72) % 24 % 2, torch.ones(72))
    old = of_gtea_0_1(new, trees, scaler)
    write_old(folder, old, version)
    same(load_model(folder), old)
    network = link_scores(LinkModel(as_gtea(old), CPU), visits)
    expected = (np.log(network) - np.log1p(-network) + trees(rows).clamp(-12, 12).numpy()) / 2
    found = link_scores(LinkModel.open(folder, CPU), visits)
    np.testing.assert_allclose(np.log(found) - np.log1p(-found), expected, atol=1e-4)


def test_files_that_an_old_manifest_does_not_name_are_not_read(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    for name in set(manifest["files"]) - OLD_FILES:
        del manifest["files"][name]
        (folder / name).write_text("{")
    manifest["format_version"] = 4
    write_manifest(folder, manifest)
    assert load_model(folder).calibration is None


def test_models_of_format_2_open_unless_their_trees_came_first(shops: Store, tmp_path: Path) -> None:
    folder = node_model(shops, tmp_path / "m", "gtea-l+t")
    old = of_gtea_0_1(load_model(folder), None, None)
    scores = node_scores(NodeModel(old, CPU), shops)
    write_old(folder, old, 2, {"tree_first": False})
    same(load_model(folder), old)
    assert node_scores(NodeModel.open(folder, CPU), shops).tobytes() == scores.tobytes()


@pytest.mark.parametrize(("model", "features"), [({"tree_first": True}, {}), ({}, {"gaps": False})])
def test_settings_that_are_gone_are_refused(
    shops: Store, tmp_path: Path, model: dict[str, Any], features: dict[str, Any]
) -> None:
    folder = node_model(shops, tmp_path / "m", "gtea-l+t")
    write_old(folder, of_gtea_0_1(load_model(folder), None, None), 2, model, **features)
    with pytest.raises(
        ModelError,
        match=r"was trained by an early version of gtea with settings that no longer exist\. .* train it again",
    ):
        NodeModel.open(folder, CPU)


def test_the_earliest_models_say_less(visits: Store, tmp_path: Path) -> None:
    """Before there were ``flows``, ``clock``, ``with_none`` and neighbour labels."""
    folder = link_model(visits, tmp_path / "m", "gtea-l", "features.net_flow=false")
    new = load_model(folder)
    write_old(folder, of_gtea_0_1(new, None, clock_ranks(new, visits)), 2)
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
    assert np.isfinite(link_scores(found, visits)).all()


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


NEW_FILES = ("calibration.json", "thresholds.json", "predictions.parquet")


def test_the_manifest_has_the_digest_of_every_file(folder: Path) -> None:
    digests = json.loads((folder / "manifest.json").read_text())["files"]
    assert set(digests) >= {*OLD_FILES, *NEW_FILES}
    for name, digest in digests.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


@pytest.mark.parametrize("file", [*sorted(OLD_FILES), *NEW_FILES])
def test_a_model_that_was_tampered_with_is_refused(folder: Path, file: str) -> None:
    path = folder / file
    content = path.read_bytes()
    changed = bytearray(content)
    changed[len(content) // 2] ^= 1
    for spoilt in (bytes(changed), content[:-1], content + b" "):
        path.write_bytes(spoilt)
        with pytest.raises(ModelError, match=f"{file}: was changed or truncated"):
            NodeModel.open(folder, CPU)
    path.unlink()
    with pytest.raises(ModelError, match=f"{file}: is missing from the model"):
        NodeModel.open(folder, CPU)


def test_what_is_saved_comes_back(shops: Store, tmp_path: Path) -> None:
    labels = labels_in(shops)
    config = read_config(None, QUICK, default_config(model_config("tree"), "nodes"))
    split, positive = temporal_split(labels, shops), positive_class(labels, "big")
    made = train_task(NodeTask(shops, labels, positive, split, config, tmp_path / "m", CPU), no_report)
    found = load_model(tmp_path / "m")
    assert found.weights.keys() == made.weights.keys()
    assert all(torch.equal(found.weights[name], tensor) for name, tensor in made.weights.items())
    for name in ("config", "preprocessing", "metrics", "facts", "calibration", "thresholds"):
        assert getattr(found, name) == json.loads(json.dumps(getattr(made, name))), name
    assert found.predictions_file == made.predictions_file
    assert found.predictions is not None
    assert found.predictions.equals(pq.read_table(tmp_path / "m" / "predictions.parquet"))


def test_a_model_of_a_newer_version_is_refused(folder: Path) -> None:
    manifest = folder / "manifest.json"
    current = f'"format_version": {FORMAT_VERSION}'
    assert current in manifest.read_text()
    manifest.write_text(manifest.read_text().replace(current, '"format_version": 9'))
    with pytest.raises(
        ModelError, match=r"has format version 9, and this gtea reads 2 and 3 and 4 and 5 and 6\. Use the gtea that"
    ):
        NodeModel.open(folder, CPU)


def test_a_manifest_must_name_every_file(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["files"]["metrics.json"]
    write_manifest(folder, manifest)
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


def signed(folder: Path, name: str, content: bytes) -> Path:
    """Replace a file of a model, and the digests with it, as anybody could."""
    (folder / name).write_bytes(content)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][name] = hashlib.sha256(content).hexdigest()
    write_manifest(folder, manifest)
    return folder


JSON_FILES = ("config.json", "preprocessing.json", "metrics.json", "calibration.json", "thresholds.json")


@pytest.mark.parametrize("file", JSON_FILES)
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"a": 1', b"{}"])
def test_files_that_are_no_documents_are_refused(folder: Path, file: str, content: bytes) -> None:
    with pytest.raises(ModelError, match=rf"{file}: (is damaged|c\w+ must be|t\w+ must be)"):
        NodeModel.open(signed(folder, file, content), CPU)


@pytest.mark.parametrize("file", [name for name in JSON_FILES if name != "metrics.json"])
@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_numbers_that_json_does_not_have_are_refused(folder: Path, file: str, number: str) -> None:
    content = (folder / file).read_text().replace("{", f'{{"more": {number},', 1)
    with pytest.raises(ModelError, match=rf"{file}: is damaged \(it has the number {number}\)\. Restore it"):
        NodeModel.open(signed(folder, file, content.encode()), CPU)


def test_weights_that_are_no_tensors_are_refused(folder: Path) -> None:
    good = (folder / "model.safetensors").read_bytes()
    other = good.replace(b'"F32"', b'"F64"', 1)
    for content in (
        b"",
        b"x" * 100,
        good[:50],
        b"\xff" * 8 + good[8:],
        good[:-8],
        other,
        b"\x02" + b"\x00" * 7 + b"{}",
    ):
        with pytest.raises(ModelError, match=r"model\.safetensors: (is damaged|its weights do not fit)"):
            NodeModel.open(signed(folder, "model.safetensors", content), CPU)


@pytest.mark.parametrize("file", [*sorted(OLD_FILES), *NEW_FILES, "manifest.json"])
def test_links_folders_and_pipes_are_not_followed(folder: Path, file: str) -> None:
    path = folder / file
    path.rename(folder / "elsewhere")
    ways: list[Callable[[Path], None]] = [lambda it: it.symlink_to("elsewhere"), Path.mkdir, os.mkfifo]
    for make in ways:
        make(path)
        with pytest.raises(ModelError, match=rf"{file}: must be a regular file in the folder .* Put a copy"):
            load_model(folder)
        path.rmdir() if path.is_dir() else path.unlink()


def test_a_model_may_be_named_by_a_link(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    link = tmp_path_factory.mktemp("links") / "latest"
    link.symlink_to(folder)
    assert load_model(link).config == load_model(folder).config


def test_a_huge_file_is_refused_before_it_is_read(folder: Path) -> None:
    for name in ("config.json", "model.safetensors", "MODEL_CARD.md", "manifest.json"):
        content = (folder / name).read_bytes()
        with (folder / name).open("r+b") as stream:
            stream.truncate(1 << 42)
        with pytest.raises(ModelError, match=rf"{name}: can't be read \(has more than [0-9,]+ bytes\)"):
            load_model(folder)
        (folder / name).write_bytes(content)


def test_a_manifest_that_was_changed_is_refused(folder: Path) -> None:
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"seed": 0', '"seed": 1'))
    with pytest.raises(ModelError, match=r"it was changed after it was written: its own sha256 differs"):
        load_model(folder)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("files", {"config.json": 5}, "its manifest must name"),
        ("training_seconds", "long", r"manifest\.training_seconds must be a finite number \(got 'long'\)"),
        ("versions", ["x"], r"manifest\.versions must be an object with gtea, torch"),
    ],
)
def test_a_manifest_that_can_not_be(folder: Path, name: str, value: Any, message: str) -> None:
    write_manifest(folder, {**json.loads((folder / "manifest.json").read_text()), name: value})
    with pytest.raises(ModelError, match=message):
        load_model(folder)


def test_digests_are_digests(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["config.json"] = "../../etc/passwd"
    write_manifest(folder, manifest)
    with pytest.raises(ModelError, match=r"manifest\.files\.config\.json must be a sha256 in 64 hexadecimal digits"):
        load_model(folder)


def test_a_manifest_of_format_5_has_no_digest_of_itself(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["sha256"]
    (folder / "manifest.json").write_text(json.dumps({**manifest, "format_version": 5}))
    assert load_model(folder).facts["seed"] == 0
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelError, match="its own sha256 differs"):
        load_model(folder)


def test_predictions_are_decoded_when_they_are_asked_for(folder: Path) -> None:
    found = load_model(signed(folder, "predictions.parquet", b"PAR1 and nothing else"))
    with pytest.raises(ModelError, match=r"predictions\.parquet: is damaged"):
        _ = found.predictions


def test_a_model_of_gtea_0_1_that_can_not_be(folder: Path) -> None:
    rewrite(folder, 3, config={"run": []})
    with pytest.raises(ModelError, match=r"is damaged \(it is not what gtea 0\.1 wrote: "):
        load_model(folder)
