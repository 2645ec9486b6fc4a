"""Prepare a public data set for training: the store, the labels, and a description of the split.

    OUT/store/         the events
    OUT/labels.csv     account, label (node tasks only): the labels of accounts in the store, as gtea train reads them
    OUT/dataset.json   the sources, the counts, the split, and the command to train

The folder appears atomically. Preparing it again from the same files keeps the store and the labels.
"""

from __future__ import annotations

import csv
import hashlib
import io
import shlex
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gtea.datasets.catalog import Dataset
from gtea.datasets.copies import Copy, require_copy
from gtea.errors import DataError, StoreError, UsageError
from gtea.ingestion.ingest import ingest
from gtea.ingestion.snap_files import read_snap_layout
from gtea.ingestion.table_files import read_layout
from gtea.runtime.files import atomic_write, write_json
from gtea.runtime.json_files import read_json
from gtea.runtime.json_shape import Every, Natural, ObjectOf
from gtea.runtime.progress import Progress, no_progress
from gtea.store.publish import move_into_place, scratch_for
from gtea.store.store import Store
from gtea.tasks.labels import Labels, class_counts, read_labels
from gtea.tasks.link_split import LinkProtocol, split_links, with_negatives
from gtea.tasks.splits import stratified_folds, temporal_split

FACTS = "dataset.json"
_FACTS = ObjectOf(
    {"name": str, "sources": [object], "store_digest": str, "labels_left_out": Every(Natural)}, others=object
)
LABELS = "labels.csv"
STORE = "store"
_JODIE = ("user", "item", "time")
_FOLDS = 5
"""As in the paper."""


def prepare(
    dataset: Dataset,
    out: Path,
    *,
    given: Path | None = None,
    protocol: LinkProtocol = "paper",
    memory: str = "4GB",
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Prepare a data set in ``out``, and return the content of its ``dataset.json``.

    Args:
        given: The folder that has the copy. By default, GTEA_DATA and the downloads are searched.
        protocol: The split to describe: the paper's (one graph; five folds of accounts), or by time.
    """
    copy = require_copy(dataset, given)
    _check_layout(dataset, copy)
    sources = [_digest(path) for path in (copy.events, copy.labels) if path]
    prepared = _already_prepared(dataset, out, sources)
    if prepared is not None:
        facts = _describe(dataset, out, out, protocol, sources, prepared["labels_left_out"])
        write_json(out / FACTS, facts)
        return facts
    with scratch_for(out) as scratch:
        draft = scratch / "prepared"
        store = ingest(
            copy.events, **copy.layout.options, labels=copy.labels, out=draft / STORE, memory=memory, progress=progress
        )
        _check_rows(dataset, copy, store)
        left_out = {} if copy.labels is None else _write_labels(dataset, copy.labels, store, draft / LABELS)
        facts = _describe(dataset, draft, out, protocol, sources, left_out)
        write_json(draft / FACTS, facts)
        move_into_place(draft, out)
    return facts


def _already_prepared(dataset: Dataset, out: Path, sources: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The ``dataset.json`` of a folder that was prepared from the same files. Any other content is refused."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return None
    try:
        facts: dict[str, Any] = read_json(out / FACTS, _FACTS)
    except (OSError, ValueError) as error:
        raise UsageError(f"{out}: exists and is not a prepared data set. Choose another --out.") from error
    if (facts["name"], facts["sources"]) != (dataset.name, sources):
        what = "other files" if facts["name"] == dataset.name else facts["name"]
        raise UsageError(f"{out}: was prepared from {what}. Choose another --out, or delete it.")
    if Store.open(out / STORE).digest != facts["store_digest"] or (dataset.labels and not (out / LABELS).exists()):
        raise StoreError(f"{out}: was changed after it was prepared. Choose another --out, or delete it.")
    return facts


def _check_layout(dataset: Dataset, copy: Copy) -> None:
    """Refuse files without the columns of the data set, before any rows are read."""
    match copy.layout.options.get("format"):
        case "jodie":
            _require_jodie(copy.events)
        case "snap":
            read_snap_layout(copy.events)
        case _:
            _require(dataset, copy.events, copy.layout.columns, copy.layout.files)
    if copy.labels is not None and dataset.labels is not None:
        _require(dataset, copy.labels, (dataset.labels.account, dataset.labels.label), (dataset.labels.file,))


def _require(dataset: Dataset, path: Path, columns: tuple[str, ...], files: tuple[str, ...]) -> None:
    found = _columns(path, columns)
    missing = [name for name in columns if name not in found]
    if missing:
        raise DataError(
            f"{path}: {dataset.name} must have the columns {', '.join(columns)} (got {', '.join(found[:20])}; missing: "
            f"{', '.join(missing)}). Rename them in {' or '.join(files)}, or read the file with gtea ingest."
        )


def _require_jodie(path: Path) -> None:
    """Check the header of a JODIE file. Its columns are read by position, so the names must match roughly."""
    found = read_layout(path, (), ",").columns
    if len(found) < 4 or any(word not in name.lower() for word, name in zip(_JODIE, found, strict=False)):
        raise DataError(
            f"{path}: a JODIE file must have the columns user_id, item_id, timestamp, state_label, features... "
            f"(got {', '.join(found[:20])}). Put them in this order, or read the file with gtea ingest."
        )


def _columns(path: Path, wanted: tuple[str, ...]) -> tuple[str, ...]:
    if path.suffix != ".parquet":
        return read_layout(path, wanted).columns
    try:
        return tuple(pq.read_schema(path).names)
    except (pa.ArrowInvalid, OSError) as error:
        first = str(error).splitlines()[0]
        raise DataError(f"{path}: can't be read as Parquet ({first}). Check that the file is complete.") from error


def _check_rows(dataset: Dataset, copy: Copy, store: Store) -> None:
    """Refuse a downloadable file with a wrong number of rows. A user's own copy may have another size."""
    rows = store.report["rows_in"]
    if dataset.url and rows != dataset.rows:
        raise DataError(
            f"{copy.events}: {dataset.name} must have {dataset.rows:,} rows (got {rows:,}). The file is truncated or a "
            f"different one: delete it and its .sha256 file and run gtea datasets fetch {dataset.name}, or read it "
            "with gtea ingest."
        )


def _write_labels(dataset: Dataset, source: Path, store: Store, out: Path) -> dict[str, int]:
    """Write the labels of accounts that are in the store, and count the others."""
    assert dataset.labels is not None
    labels = read_labels(source, store, account=dataset.labels.account, label=dataset.labels.label, unknown="skip")
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["account", "label"])
    for node, target in zip(labels.nodes.tolist(), labels.targets.tolist(), strict=True):
        rows.writerow([store.account(node), labels.classes[target]])
    with atomic_write(out) as stream:
        stream.write(text.getvalue().encode())
    return {"not_in_the_store": labels.report["unknown"]["accounts"]}


def _describe(
    dataset: Dataset,
    folder: Path,
    home: Path,
    protocol: LinkProtocol,
    sources: list[dict[str, Any]],
    labels_left_out: dict[str, int],
) -> dict[str, Any]:
    """The ``dataset.json`` of a prepared folder whose final path is ``home``."""
    store = Store.open(folder / STORE)
    facts = {
        "name": dataset.name,
        "task": dataset.task,
        "protocol": protocol,
        "out": str(home),
        "sources": sources,
        "store_digest": store.digest,
        "rows": store.report["rows_in"],
        "rows_known": dataset.rows,
        "nodes": store.num_nodes,
        "edges": store.num_edges,
        "events": store.num_events,
        "self_loops": store.manifest.counts["self_loops"],
        "features": list(store.features),
        "labels_left_out": labels_left_out,
    }
    if dataset.task == "links":
        return {**facts, **_link_facts(store, protocol), "next": _next_links(home, protocol)}
    labels = read_labels(folder / LABELS, store)
    positive = _positive(dataset, labels)
    command = _next_nodes(home, protocol, positive)
    return {**facts, **_node_facts(labels, store, protocol), "positive": positive, "next": command}


def _link_facts(store: Store, protocol: LinkProtocol) -> dict[str, Any]:
    """Counts in the paper's terms: an edge counts once per direction, and each positive is paired with a negative."""
    split = with_negatives(store, split_links(store, protocol=protocol))
    return {
        "edges_directed": 2 * split.graph_pairs,
        "samples": 2 * sum(len(part) for part in split.parts.values()),
        "split": split.describe(),
    }


def _positive(dataset: Dataset, labels: Labels) -> str | None:
    """The positive class, or None if the user's copy has other class names."""
    positive = dataset.labels and dataset.labels.positive
    return positive if positive in labels.classes else None


def _node_facts(labels: Labels, store: Store, protocol: LinkProtocol) -> dict[str, Any]:
    counts = {"labelled": len(labels), "classes": class_counts(labels.targets, labels.classes)}
    if protocol == "temporal":
        return {**counts, "split": temporal_split(labels, store).describe()}
    folds = stratified_folds(labels, store, k=_FOLDS)
    sizes = [{name: len(part) for name, part in fold.parts.items()} for fold in folds]
    return {**counts, "split": {"split": f"{_FOLDS} folds", "left_out": folds[0].left_out, "folds": sizes}}


def _next_links(home: Path, protocol: LinkProtocol) -> str:
    setting = " --set split.protocol=paper" if protocol == "paper" else ""
    return f"gtea train {_quoted(home / STORE)} --task links{setting} --out {_quoted(home / 'model')}"


def _next_nodes(home: Path, protocol: LinkProtocol, positive: str | None) -> str:
    positive_option = f" --positive {shlex.quote(positive)}" if positive else ""
    folds = f" --folds {_FOLDS}" if protocol == "paper" else ""
    labels = f"--labels {_quoted(home / LABELS)}"
    return f"gtea train {_quoted(home / STORE)} {labels}{positive_option}{folds} --out {_quoted(home / 'model')}"


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))


def _digest(path: Path) -> dict[str, Any]:
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"name": path.name, "bytes": path.stat().st_size, "sha256": digest}
