"""A model on disk: a folder of tensors and JSON, checked by digests. Loading it runs no code.

    MODEL/model.safetensors     the weights
    MODEL/config.json           the resolved configuration, task and classes
    MODEL/preprocessing.json    scalers and vocabularies, fitted on the training window
    MODEL/calibration.json      what is done to raw probabilities (gtea.tasks.probability_correction)
    MODEL/thresholds.json       from which probability on an account or a pair is an alert, and what to expect
    MODEL/predictions.parquet   the validation and test examples and their probabilities
    MODEL/metrics.json          the metrics and the data they were measured on
    MODEL/MODEL_CARD.md         the same for people
    MODEL/reliability.svg       predicted probabilities against observed shares, before and after calibration
    MODEL/manifest.json         sha256 of each file, the data's digest, seed, threads, versions; written last

A folder without a manifest is an unfinished run. It may contain checkpoints.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from gtea.errors import ModelError
from gtea.runtime.files import atomic_write, write_json

_FORMAT = "gtea-model"
FORMAT_VERSION = 5
_READABLE = (2, 3, 4, FORMAT_VERSION)
MANIFEST = "manifest.json"
_FILES = ("model.safetensors", "config.json", "preprocessing.json", "metrics.json", "MODEL_CARD.md")
_WEIGHTS, _CONFIG, _PREPROCESSING, _METRICS, _CARD = _FILES
_OPTIONAL = ("calibration.json", "thresholds.json", "predictions.parquet", "reliability.svg")
_CALIBRATION, _THRESHOLDS, _PREDICTIONS, _FIGURE = _OPTIONAL


@dataclass(frozen=True)
class SavedModel:
    """Everything needed to score with a model, and its provenance."""

    weights: dict[str, Tensor]
    config: dict[str, Any]
    """``run`` (the run's configuration), ``task``, ``classes``, ``positive`` and ``input``."""
    preprocessing: dict[str, Any]
    metrics: dict[str, Any]
    facts: dict[str, Any]
    """Data digest, seed, threads, versions, dates."""
    calibration: dict[str, Any] | None = None
    """None for a model of gtea 0.1, whose probabilities are raw."""
    thresholds: dict[str, Any] | None = None
    """None for a model of gtea 0.1: decisions are at one half."""
    predictions: pa.Table | None = None
    """The examples of the validation and test parts."""


def save_model(folder: Path, model: SavedModel, card: str, figure: str | None = None) -> None:
    """Write a model. The manifest is written last and marks it as complete.

    Args:
        card: The text of MODEL_CARD.md.
        figure: The text of reliability.svg, if there is one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    contents = {
        _WEIGHTS: save_tensors(model.weights),
        _CONFIG: _json(model.config),
        _PREPROCESSING: _json(model.preprocessing),
        _METRICS: _json(model.metrics),
        _CARD: card.encode(),
    }
    for name, document in ((_CALIBRATION, model.calibration), (_THRESHOLDS, model.thresholds)):
        if document is not None:
            contents[name] = _json(document)
    if model.predictions is not None:
        contents[_PREDICTIONS] = _parquet(model.predictions)
    if figure is not None:
        contents[_FIGURE] = figure.encode()
    for name, content in contents.items():
        with atomic_write(folder / name) as stream:
            stream.write(content)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    head = {"format": _FORMAT, "format_version": FORMAT_VERSION}
    write_json(folder / MANIFEST, {**head, "files": digests, **model.facts})


def load_model(folder: Path) -> SavedModel:
    """Read a model. Refuses one that was changed, truncated, left unfinished or written by a newer version of gtea."""
    manifest = _read_manifest(folder)
    digests = _digests(folder, manifest)
    contents = {name: _checked(folder / name, digest) for name, digest in digests.items()}
    facts = {name: value for name, value in manifest.items() if name not in ("format", "format_version", "files")}
    config, preprocessing, metrics = (json.loads(contents[name]) for name in (_CONFIG, _PREPROCESSING, _METRICS))
    if manifest["format_version"] < 4:
        _upgrade(folder, config, preprocessing)
    calibration, thresholds = (
        json.loads(contents[name]) if name in contents else None for name in (_CALIBRATION, _THRESHOLDS)
    )
    predictions = pq.read_table(pa.BufferReader(contents[_PREDICTIONS])) if _PREDICTIONS in contents else None
    weights = load_tensors(contents[_WEIGHTS])
    return SavedModel(weights, config, preprocessing, metrics, facts, calibration, thresholds, predictions)


_OLD_FEATURES = {
    "ages": "recency",
    "flows": "net_flow",
    "pairs": "pair_statistics",
    "ranks": "rank_inputs",
    "known": "neighbour_labels",
    "clock": "time_origin",
}
_OLD_PREPROCESSING = {"pairs": "pair_statistics", "ranks": "rank_inputs", "known": "neighbour_labels"}
_OLD_INPUT = {"d_ranks": "d_head_inputs", "d_known": "d_neighbour_labels"}
_GONE = {
    "train": ("workers", "checkpoint_seconds", "clip_norm"),
    "split": ("kind", "folds", "fold", "graph_fraction"),
}


def _upgrade(folder: Path, config: dict[str, Any], preprocessing: dict[str, Any]) -> None:
    """Convert a model saved by gtea 0.1 (formats 2 and 3) to the current names. To be removed in 0.3."""
    run = config["run"]
    if run["model"].pop("tree_first", False) or not run["features"].pop("gaps", True):
        raise ModelError(
            f"{folder}: was trained by an early version of gtea with settings that no longer exist. "
            "Use that version, or train it again."
        )
    if run["model"].pop("tree_beside", False):
        run["model"]["family"] = "hybrid"
    run["features"] = {"net_flow": False, **_renamed(run["features"], _OLD_FEATURES)}
    for section, names in _GONE.items():
        run[section] = {name: value for name, value in run[section].items() if name not in names}
    config["input"] = _renamed(config["input"], _OLD_INPUT)
    for old, new in _OLD_PREPROCESSING.items():
        preprocessing[new] = preprocessing.pop(old, None)
    for name in ("pair_statistics", "rank_inputs"):
        if preprocessing[name]:
            preprocessing[name]["with_nan"] = preprocessing[name].pop("with_none", False)
    events = preprocessing["events"]
    events["time_origin"] = events.pop("clock", "pair")
    events.pop("with_gap", None)


def _renamed(content: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in content.items()}


def _digests(folder: Path, manifest: Mapping[str, Any]) -> dict[str, str]:
    """The digest of each file of a model. Other files that a manifest may name are not opened."""
    files = manifest.get("files")
    missing = [name for name in _FILES if not isinstance(files, dict) or name not in files]
    if missing:
        raise ModelError(
            f"{folder}: its manifest must name {', '.join(_FILES)} (got none for {', '.join(missing)}). "
            "Train it again, or restore a backup."
        )
    return {name: str(manifest["files"][name]) for name in (*_FILES, *_OPTIONAL) if name in manifest["files"]}


def _read_manifest(folder: Path) -> Mapping[str, Any]:
    path = folder / MANIFEST
    if not folder.is_dir():
        raise ModelError(f"{folder}: no such model. Make one with gtea train.")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        unfinished = (folder / "run.json").exists()
        what = "is a run that has not finished" if unfinished else "is not a model (it has no manifest.json)"
        remedy = f"Resume it with gtea train --resume {folder}." if unfinished else "Check the path."
        raise ModelError(f"{folder}: {what}. {remedy}") from error
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: can't be read ({error}). Train it again, or restore a backup.") from error
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise ModelError(f"{folder}: is not a gtea model. Check the path.")
    if manifest.get("format_version") not in _READABLE:
        readable = " and ".join(map(str, _READABLE))
        raise ModelError(
            f"{folder}: has format version {manifest.get('format_version')}, and this gtea reads {readable}. "
            f"Use the gtea that wrote it ({_version(manifest)}), or train it again."
        )
    return manifest


def _version(manifest: Mapping[str, Any]) -> str:
    versions = manifest.get("versions")
    return str(versions.get("gtea", "unknown")) if isinstance(versions, dict) else "unknown"


def _checked(path: Path, digest: str) -> bytes:
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise ModelError(f"{path}: is missing from the model. Restore it from a backup, or train again.") from error
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise ModelError(
            f"{path}: was changed or truncated (sha256 {found[:12]}..., must be {digest[:12]}...). "
            "Restore it from a backup, or train again."
        )
    return content


def _parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return bytes(sink.getvalue())


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
