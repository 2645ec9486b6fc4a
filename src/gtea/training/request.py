"""Training requests: open the store, read labels and settings, and split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

import torch

from gtea.config import Family, ModelConfig, RunConfig, read_config, read_toml
from gtea.errors import UsageError
from gtea.models.model_folder import SavedModel
from gtea.models.registry import DEFAULT_MODEL, default_config, model_config, require_classifier
from gtea.runtime.device import resolve_device
from gtea.store.store import Store
from gtea.tasks.decision_options import DecisionOptions
from gtea.tasks.labels import Labels, positive_class, read_labels
from gtea.tasks.link_split import LinkSplit, split_links, with_negatives
from gtea.tasks.split_choice import SplitBy, choose_split
from gtea.tasks.splits import Split, stratified_folds
from gtea.training.fit import Task, train_task
from gtea.training.link_task import LinkTask
from gtea.training.loop import TrainingListener
from gtea.training.node_task import NodeTask
from gtea.training.results import TrainingResult


@dataclass(frozen=True)
class Fold:
    """One of several stratified folds, counted from 0."""

    number: int
    num_folds: int


@dataclass(frozen=True)
class NodeRequest:
    """A request to train an account classifier."""

    store: Store
    labels: Labels
    positive: str | None
    config: RunConfig
    as_of: str | None
    device: torch.device
    fold: Fold | None = None
    """The stratified fold to train."""
    split_by: SplitBy = "auto"
    """How accounts are split, unless a fold is given."""
    decisions: DecisionOptions = field(default_factory=DecisionOptions)

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
        fold: Fold | None = None,
        split_by: SplitBy = "auto",
        base: RunConfig | None = None,
        decisions: DecisionOptions | None = None,
    ) -> NodeRequest:
        """Open the store, read labels and settings, and check that they fit together.

        Args:
            store: The path of the store.
            labels: A file or a frame, as in ``read_labels``.
            variant: The name of the model. Defaults to ``DEFAULT_MODEL``.
            config: A TOML file of settings.
            settings: Settings as ``section.key=value``, which override those of ``config``.
            as_of: The cut. Defaults to just after the last event.
            positive: The positive class. Defaults to the rarer of two classes.
            unknown: What to do with labels of accounts that are not in the store, as in ``read_labels``.
            device: ``"auto"``, ``"cpu"`` or ``"cuda"``.
            fold: The stratified fold to train, instead of a split.
            split_by: How accounts are split: by time, at random, or by time where that can teach anything.
            base: Default settings, instead of those of the variant.
            decisions: How the threshold is chosen, and the prevalence in the population.
        """
        base = base or default_config(_chosen_model(variant, config), "nodes")
        resolved = read_config(config, settings, base)
        require_classifier(resolved.model)
        opened = Store.open(store)
        found = read_labels(labels, opened, unknown=unknown).existing_before(opened.as_of(as_of))
        chosen = positive_class(found, positive)
        options = decisions or DecisionOptions()
        return NodeRequest(opened, found, chosen, resolved, as_of, resolve_device(device), fold, split_by, options)

    def task_for(self, split: Split, folder: Path) -> NodeTask:
        """Return the training task for one split."""
        return NodeTask(self.store, self.labels, self.positive, split, self.config, folder, self.device, self.decisions)

    def once(self, folder: Path) -> NodeTask:
        """Return the training task."""
        return self.task_for(self.split(), folder)

    def split(self) -> Split:
        """Split the accounts, or return the requested fold."""
        if self.fold is not None:
            return self.folds(self.fold.num_folds)[self.fold.number]
        return choose_split(
            self.labels,
            self.store,
            self.split_by,
            fractions=self.config.split.fractions,
            seed=self.config.train.seed,
            as_of=self.as_of,
        )

    def folds(self, k: int) -> tuple[Split, ...]:
        """Return all k stratified folds."""
        return stratified_folds(self.labels, self.store, k=k, seed=self.config.train.seed, as_of=self.as_of)


@dataclass(frozen=True)
class LinkRequest:
    """A request to train a link predictor."""

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
        """Open the store, read the settings, split by time, and check that they fit together.

        Args:
            store: The path of the store.
            variant: The name of the model. Defaults to ``DEFAULT_MODEL``.
            config: A TOML file of settings.
            settings: Settings as ``section.key=value``, which override those of ``config``.
            graph_until: The cut between the graph and the first window, as in ``split_links``.
            as_of: Events at or after this time are ignored. Defaults to just after the last event.
            device: ``"auto"``, ``"cpu"`` or ``"cuda"``.
            base: Default settings, instead of those of the variant.
        """
        base = base or default_config(_chosen_model(variant, config), "links")
        resolved = read_config(config, settings, base)
        opened = Store.open(store)
        chosen = resolved.split
        split = split_links(
            opened,
            graph_until=graph_until,
            fractions=chosen.fractions,
            protocol=chosen.protocol,
            train_windows=chosen.train_windows,
            as_of=as_of,
        )
        return LinkRequest(opened, with_negatives(opened, split), resolved, resolve_device(device))

    def once(self, folder: Path) -> LinkTask:
        """Return the training task."""
        return LinkTask(self.store, self.split, self.config, folder, self.device)


def _chosen_model(variant: str | None, config: Path | None) -> ModelConfig:
    """The model that is named, else the family in the settings file (as ``gtea tune`` writes it), else the default."""
    if variant is None and config is not None:
        section = read_toml(config, "--config").get("model", {})
        if isinstance(section, dict) and section.get("family") in get_args(Family):
            return ModelConfig(family=section["family"])
    return model_config(variant or DEFAULT_MODEL)


def run_once(
    request: NodeRequest | LinkRequest, out: str | None, resume: str | None, listener: TrainingListener
) -> TrainingResult:
    """Train one model, or resume its training."""
    folder = folder_of(out, resume)
    task: Task[Any] = request.once(folder)
    model = train_task(task, listener, resume=resume is not None)
    return result_of(model, folder)


def result_of(model: SavedModel, folder: Path) -> TrainingResult:
    """Summarise a trained model: its folder, task, training time and metrics."""
    outputs = {name: model.config.get(name) for name in ("task", "classes", "positive")}
    head = {"out": str(folder), "model": model.config["run"]["model"]["family"], **outputs}
    decisions = {"threshold": None, **(model.thresholds or {})}
    population = (model.calibration or {}).get("population")
    decisions["prevalence"] = population and population[model.config["classes"].index(model.config["positive"])]
    return cast(TrainingResult, {**head, "seconds": model.facts["training_seconds"], **model.metrics, **decisions})


def folder_of(out: str | None, resume: str | None) -> Path:
    """The folder of a new run, or of the one to resume."""
    if (out is None) == (resume is None):
        raise UsageError("--out, --resume: give one of them: a folder to create, or a run to resume.")
    folder = Path(out or resume or "").absolute()
    if resume is not None and not folder.is_dir():
        raise UsageError(f"--resume {resume}: no such run. Check the path, or start one with --out.")
    return folder
