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
    MODEL/manifest.json         sha256 of each file and of itself, the data's digest, seed, threads, versions; last

A folder without a manifest is an unfinished run. It may contain checkpoints.

A model may come from anybody. Only regular files of the folder are read, under the names above and up to a size. Their
digests find damage, not an attacker, who can compute them: what the files say is checked by
``gtea.models.model_documents``, and the weights by ``gtea.models.saved_network``. Predictions are not decoded before
somebody asks for them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from gtea.errors import ModelError
from gtea.models.model_documents import (
    FACTS,
    config_faults,
    metrics_faults,
    old_metrics_faults,
    preprocessing_faults,
)
from gtea.runtime.files import atomic_write, write_json
from gtea.runtime.json_shape import Every, Pattern, misshapen, strict_json
from gtea.runtime.plain_files import NotPlainError, read_plain

_FORMAT = "gtea-model"
FORMAT_VERSION = 6
_READABLE = (2, 3, 4, 5, FORMAT_VERSION)
_OWN_DIGEST = "sha256"
MANIFEST = "manifest.json"
_FILES = ("model.safetensors", "config.json", "preprocessing.json", "metrics.json", "MODEL_CARD.md")
_WEIGHTS, _CONFIG, _PREPROCESSING, _METRICS, _CARD = _FILES
_OPTIONAL = ("calibration.json", "thresholds.json", "predictions.parquet", "reliability.svg")
_CALIBRATION, _THRESHOLDS, _PREDICTIONS, _FIGURE = _OPTIONAL
_MAX_BYTES = {".json": 2**30, ".safetensors": 2**33, ".parquet": 2**33, ".md": 2**26, ".svg": 2**26}
_RESTORE = "Restore it from a backup, or train again."


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
    predictions_file: bytes | None = None
    """The content of predictions.parquet. None for a model of gtea 0.1."""
    folder: Path | None = None
    """Where it was read from; None for a model that was just trained."""

    @property
    def predictions(self) -> pa.Table | None:
        """The examples of the validation and test parts, decoded when they are asked for."""
        if self.predictions_file is None:
            return None
        try:
            return pq.read_table(pa.BufferReader(self.predictions_file))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _damaged(self.where(_PREDICTIONS), str(error)) from error

    def where(self, name: str) -> str:
        """One of its files, for error messages."""
        return "model" if self.folder is None else str(self.folder / name)


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
    if model.predictions_file is not None:
        contents[_PREDICTIONS] = model.predictions_file
    if figure is not None:
        contents[_FIGURE] = figure.encode()
    for name, content in contents.items():
        with atomic_write(folder / name) as stream:
            stream.write(content)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    head = {"format": _FORMAT, "format_version": FORMAT_VERSION}
    manifest = {**head, "files": digests, **model.facts}
    write_json(folder / MANIFEST, {**manifest, _OWN_DIGEST: _own_digest(manifest)})


def load_model(folder: Path) -> SavedModel:
    """Read a model. Refuses one that was changed, truncated, left unfinished or written by a newer version of gtea."""
    manifest = _read_manifest(folder)
    digests = _digests(folder, manifest)
    contents = {name: _checked(folder, name, digest) for name, digest in digests.items()}
    config, preprocessing = (_document(folder / name, contents[name]) for name in (_CONFIG, _PREPROCESSING))
    if manifest["format_version"] < 4:
        _upgrade(folder, config, preprocessing)
    _require_sound(folder / _CONFIG, config_faults(config))
    _require_sound(folder / _PREPROCESSING, preprocessing_faults(preprocessing, config))
    metrics = _document(folder / _METRICS, contents[_METRICS], finite=False)
    faults = metrics_faults if manifest["format_version"] > 4 else old_metrics_faults
    _require_sound(folder / _METRICS, faults(metrics, config))
    calibration, thresholds = (
        _document(folder / name, contents[name]) if name in contents else None for name in (_CALIBRATION, _THRESHOLDS)
    )
    return SavedModel(
        _weights(folder / _WEIGHTS, contents[_WEIGHTS]),
        config,
        preprocessing,
        metrics,
        {name: manifest[name] for name in (*FACTS.required, *FACTS.optional) if name in manifest},
        calibration,
        thresholds,
        contents.get(_PREDICTIONS),
        folder,
    )


def model_files(folder: Path) -> dict[str, tuple[str, int]]:
    """The sha256 of each file that the manifest of a folder names, and the most bytes that it can have."""
    digests = _digests(folder, _read_manifest(folder))
    return {name: (digest, _MAX_BYTES[Path(name).suffix]) for name, digest in digests.items()}


def parquet_file(table: pa.Table) -> bytes:
    """The content of predictions.parquet."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return bytes(sink.getvalue())


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
    try:
        gone = _rename(config, preprocessing)
    except (KeyError, TypeError, AttributeError) as error:
        raise _damaged(folder, f"it is not what gtea 0.1 wrote: {error!r:.60}") from error
    if gone:
        raise ModelError(
            f"{folder}: was trained by an early version of gtea with settings that no longer exist. "
            "Use that version, or train it again."
        )


def _rename(config: dict[str, Any], preprocessing: dict[str, Any]) -> bool:
    """Change names in place. Returns whether the model has settings that no longer exist."""
    run = config["run"]
    if run["model"].pop("tree_first", False) or not run["features"].pop("gaps", True):
        return True
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
    return False


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
    fault = misshapen(files, Every(_SHA256), "manifest.files")
    if fault is not None:
        raise _damaged(folder / MANIFEST, fault)
    return {name: manifest["files"][name] for name in (*_FILES, *_OPTIONAL) if name in manifest["files"]}


_SHA256 = Pattern("[0-9a-f]{64}", "a sha256 in 64 hexadecimal digits")


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not folder.is_dir():
        raise ModelError(f"{folder}: no such model. Make one with gtea train.")
    try:
        manifest = strict_json(_content(folder, MANIFEST))
    except FileNotFoundError as error:
        unfinished = (folder / "run.json").exists()
        what = "is a run that has not finished" if unfinished else "is not a model (it has no manifest.json)"
        remedy = f"Resume it with gtea train --resume {folder}." if unfinished else "Check the path."
        raise ModelError(f"{folder}: {what}. {remedy}") from error
    except ValueError as error:
        raise ModelError(f"{path}: can't be read ({error}). Train it again, or restore a backup.") from error
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise ModelError(f"{folder}: is not a gtea model. Check the path.")
    if manifest.get("format_version") not in _READABLE:
        readable = " and ".join(map(str, _READABLE))
        raise ModelError(
            f"{folder}: has format version {manifest.get('format_version')!r:.60}, and this gtea reads {readable}. "
            f"Use the gtea that wrote it ({_version(manifest)}), or train it again."
        )
    _require_sound(path, _manifest_faults(manifest))
    return manifest


def _manifest_faults(manifest: dict[str, Any]) -> Iterator[str]:
    # Before format 6, a manifest had no digest of itself.
    recorded = manifest.pop(_OWN_DIGEST, None)
    if (recorded is not None or manifest["format_version"] > 5) and recorded != _own_digest(manifest):
        yield "it was changed after it was written: its own sha256 differs"
    known = {name: value for name, value in manifest.items() if name in (*FACTS.required, *FACTS.optional)}
    fault = misshapen(known, FACTS, "manifest")
    if fault is not None:
        yield fault


def _own_digest(manifest: Mapping[str, Any]) -> str:
    """The sha256 of a manifest, whatever the order of its names."""
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _version(manifest: Mapping[str, Any]) -> str:
    versions = manifest.get("versions")
    return f"{versions.get('gtea', 'unknown')!s:.60}" if isinstance(versions, dict) else "unknown"


def _content(folder: Path, name: str) -> bytes:
    """Read a file of a model: a regular file of its folder, and no larger than such a file may be."""
    try:
        return read_plain(folder, name, _MAX_BYTES[Path(name).suffix], through_link=True)
    except FileNotFoundError:
        raise
    except NotPlainError as error:
        raise ModelError(
            f"{folder / name}: must be a regular file in the folder of the model (got a link, a folder or a device). "
            "Put a copy of the file in its place."
        ) from error
    except OSError as error:
        raise ModelError(f"{folder / name}: can't be read ({error.strerror}). {_RESTORE}") from error


def _checked(folder: Path, name: str, digest: str) -> bytes:
    path = folder / name
    try:
        content = _content(folder, name)
    except FileNotFoundError as error:
        raise ModelError(f"{path}: is missing from the model. {_RESTORE}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != digest:
        raise ModelError(
            f"{path}: was changed or truncated (sha256 {found[:12]}..., must be {digest[:12]}...). {_RESTORE}"
        )
    return content


def _document(path: Path, content: bytes, *, finite: bool = True) -> dict[str, Any]:
    """The JSON object in a file."""
    try:
        found = strict_json(content, finite=finite)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from error
    if not isinstance(found, dict):
        raise _damaged(path, "it must be a JSON object")
    return found


def _weights(path: Path, content: bytes) -> dict[str, Tensor]:
    try:
        return load_tensors(content)
    except (SafetensorError, KeyError, ValueError, TypeError, RuntimeError, OverflowError) as error:
        raise _damaged(path, str(error)) from error


def _require_sound(path: Path, faults: Iterator[str]) -> None:
    fault = next(faults, None)
    if fault is not None:
        raise _damaged(path, fault)


def _damaged(where: Path | str, fault: str) -> ModelError:
    return ModelError(f"{where}: is damaged ({fault:.500}). {_RESTORE}")


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
