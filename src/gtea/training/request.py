"""What a user asks of training, made ready: store, labels or links, split, settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch

from gtea.config import HYBRID, RunConfig, link_defaults, node_defaults, read_config
from gtea.config import variant as model_variant
from gtea.errors import UsageError
from gtea.models.registry import require_classifier
from gtea.runtime.device import resolve_device
from gtea.runtime.files import write_json
from gtea.store.store import Store
from gtea.tasks.labels import Labels, positive_class, read_labels
from gtea.tasks.link_split import LinkSplit, split_links, with_negatives
from gtea.tasks.splits import Split, stratified_folds, temporal_split
from gtea.tasks.uncertainty import mean_and_std
from gtea.training.fit import Task, train_task
from gtea.training.link_task import LinkTask
from gtea.training.loop import TrainingListener
from gtea.training.node_task import NodeTask


@dataclass(frozen=True)
class NodeRequest:
    """A node classification to be trained."""

    store: Store
    labels: Labels
    positive: str | None
    config: RunConfig
    as_of: str | None
    device: torch.device

    @staticmethod
    def read(
        store: Path,
        labels: Any,
        *,
        variant: str | None = None,
        config: Path | None = None,
        settings: Sequence[str] = (),
        as_of: str | None = None,
        positive: str | None = None,
        unknown: Literal["error", "skip"] = "error",
        device: str = "auto",
        base: RunConfig | None = None,
    ) -> NodeRequest:
        """Open the store, read labels and settings, and refuse what doesn't fit together.

        Args:
            base: Settings to begin with, instead of the variant's.
        """
        base = base or node_defaults(model_variant(variant or HYBRID))
        resolved = read_config(config, settings, base)
        require_classifier(resolved.model)
        opened = Store.open(store)
        # What was labelled later must not even add a class, or make another one the rarer.
        found = read_labels(labels, opened, unknown=unknown).known_before(opened.as_of(as_of).cut)
        return NodeRequest(opened, found, positive_class(found, positive), resolved, as_of, resolve_device(device))

    def run(self, split: Split, config: RunConfig, folder: Path) -> NodeTask:
        """One training of this request."""
        return NodeTask(self.store, self.labels, self.positive, split, config, folder, self.device)

    def once(self, folder: Path) -> NodeTask:
        """The training of the split that the settings name."""
        return self.run(self.split(), self.config, folder)

    def split(self) -> Split:
        """The split that the settings name."""
        chosen = self.config.split
        if chosen.kind == "temporal":
            return temporal_split(self.labels, self.store, fractions=chosen.fractions, as_of=self.as_of)
        return self._folds(chosen.folds)[chosen.fold]

    def _folds(self, k: int) -> tuple[Split, ...]:
        return stratified_folds(self.labels, self.store, k=k, seed=self.config.train.seed, as_of=self.as_of)


@dataclass(frozen=True)
class LinkRequest:
    """A link prediction to be trained."""

    store: Store
    split: LinkSplit
    config: RunConfig
    device: torch.device

    @staticmethod
    def read(
        store: Path,
        *,
        variant: str | None = None,
        config: Path | None = None,
        settings: Sequence[str] = (),
        graph_until: str | None = None,
        as_of: str | None = None,
        device: str = "auto",
        base: RunConfig | None = None,
    ) -> LinkRequest:
        """Open the store, read the settings, cut the windows, and refuse what doesn't fit together.

        Args:
            base: Settings to begin with, instead of the variant's.
        """
        base = base or link_defaults(model_variant(variant or HYBRID))
        resolved = read_config(config, settings, base)
        if resolved.split.kind != "temporal":
            raise UsageError("split.kind: links are split by time (got 'folds'). Leave it out.")
        opened = Store.open(store)
        chosen = resolved.split
        split = split_links(
            opened,
            graph_until=graph_until,
            graph_fraction=chosen.graph_fraction,
            fractions=chosen.fractions,
            protocol=chosen.protocol,
            train_windows=chosen.train_windows,
            as_of=as_of,
        )
        return LinkRequest(opened, with_negatives(opened, split), resolved, resolve_device(device))

    def once(self, folder: Path) -> LinkTask:
        """The training of this request."""
        return LinkTask(self.store, self.split, self.config, folder, self.device)


def run_once(
    request: NodeRequest | LinkRequest, out: str | None, resume: str | None, listener: TrainingListener
) -> dict[str, Any]:
    """Train one model, or go on with it."""
    folder = _folder(out, resume)
    task: Task[Any] = request.once(folder)
    model = train_task(task, listener, resume=resume is not None)
    return {"out": str(folder), **model.metrics}


def run_folds(
    request: NodeRequest, k: int, out: str | None, resume: str | None, listener: TrainingListener
) -> dict[str, Any]:
    """Train a model for each fold, and report mean and spread. A finished fold is not trained again."""
    folder = _folder(out, resume)
    if resume is None and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: exists. Go on with --resume, or choose another --out.")
    folds = stratified_folds(request.labels, request.store, k=k, seed=request.config.train.seed, as_of=request.as_of)
    results = []
    for number, split in enumerate(folds):
        place = folder / f"fold-{number + 1}"
        config = replace(request.config, split=replace(request.config.split, kind="folds", folds=k, fold=number))
        model = train_task(request.run(split, config, place), listener, resume=(place / "run.json").exists())
        results.append(model.metrics["test"])
    test = {}
    for name in results[0]:
        mean, std = mean_and_std([result[name] for result in results])
        test[name] = {"mean": mean, "std": std}
    left_out = {"labels": request.labels.report, "split": {"left_out": folds[0].left_out}}
    summary = {"out": str(folder), "folds": k, "test": test, "each": results, **left_out}
    write_json(folder / "folds.json", summary)
    return summary


def _folder(out: str | None, resume: str | None) -> Path:
    if (out is None) == (resume is None):
        raise UsageError("--out, --resume: give one of them: a folder to create, or a run to go on with.")
    folder = Path(out or resume or "").absolute()
    if resume is not None and not folder.is_dir():
        raise UsageError(f"--resume {resume}: no such run. Check the path, or begin one with --out.")
    return folder
