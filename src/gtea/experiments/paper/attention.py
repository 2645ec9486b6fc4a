"""How attention is distributed: the exact weights of the test part's accounts over all their neighbours.

    OUT/attention/DATA-PROTOCOL/RUN.json     counts and shares of one model; made again from its folder if deleted

The accounts are those of the test part, as of its cut: the classified ones, or the sources of the links to foretell.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import DataError, UsageError
from gtea.experiments.paper.jobs import Job
from gtea.experiments.paper.plan import Point, checked_models, settled
from gtea.experiments.paper.rows import Row
from gtea.experiments.paper.run_job import run_job
from gtea.experiments.paper.run_jobs import PATIENCE, busy
from gtea.models.model_folder import MANIFEST
from gtea.models.registry import GTEA_VARIANTS
from gtea.runtime.files import locked, write_json
from gtea.runtime.progress import Progress, no_progress
from gtea.scoring.attention_weights import AttentionWeights, attention_of
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.training import loop
from gtea.training.request import LinkRequest, NodeRequest

KINDS = ("sparsemax", "softmax")

ALL = "all"

SMALL = 0.1
"""WeightSummary below this are what the paper calls small."""

LOWEST = 1e-6

_PER_DECADE = 5

EDGES = np.geomspace(LOWEST, 1.0, 6 * _PER_DECADE + 1)

_MOST_CLASSES = 6
"""With more of them nobody reads a table or a picture of each."""


@dataclass(frozen=True)
class WeightSummary:
    """The weights of some accounts' neighbours, summed up."""

    accounts: int
    """Those with a neighbour."""
    neighbours: int
    zero: float
    """The share of neighbours whose weight is exactly 0."""
    zero_per_account: float
    """The same of each account with two neighbours or more, on average: here a hub counts like everybody else."""
    small: float
    """The share of neighbours whose weight is below 0.1, zeros among them."""
    effective: float
    """How many neighbours an account looks at: 1 / sum of the squared weights, on average."""
    histogram: list[float]
    """The shares of neighbours between the ``EDGES``; smaller weights that are not 0 are in the first."""


@dataclass(frozen=True)
class Measured:
    """A row of models and the weights of each, by the accounts' classes."""

    row: Row
    weights: tuple[Mapping[str, WeightSummary], ...]

    @property
    def kind(self) -> str:
        """Which attention it is."""
        return str(self.row.jobs[0].config.model.attention)

    @property
    def groups(self) -> list[str]:
        """All accounts, and perhaps each class."""
        return list(self.weights[0]) if self.weights else []


def attention_points(models: Sequence[str], settings: Sequence[str] = ()) -> list[Point]:
    """Each variant with sparse and with dense attention, otherwise the same."""
    if "model.attention" in settled(settings):
        raise UsageError("--set model.attention: is what is compared here. Leave it out.")
    for model in checked_models(models):
        if model not in GTEA_VARIANTS:
            raise UsageError(f"--models: must be variants of GTEA here (got {model!r}). Try 'gtea-l+t'.")
    return [
        Point(model, {"model.attention": kind}, f"{model}, {kind}")
        for model in dict.fromkeys(models or ("gtea-l+t",))
        for kind in KINDS
    ]


def measure(rows: Sequence[Row], out: Path, progress: Progress = no_progress) -> list[Measured]:
    """The weights of every model that was trained, measured now or before."""
    folder = rows[0].jobs[0].outcome_file(out).parent
    with locked(folder, busy(folder), timeout=PATIENCE):
        return [Measured(row, tuple(_weights(job, out, progress) for job in _finished(row))) for row in rows]


def _finished(row: Row) -> list[Job]:
    labels = {outcome.label for outcome in row.finished}
    return [job for job in row.jobs if job.repeat.label in labels]


def _weights(job: Job, out: Path, progress: Progress) -> Mapping[str, WeightSummary]:
    path = out / "attention" / job.group / f"{job.stem}.json"
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return {group: WeightSummary(**found) for group, found in kept["weights"].items()}
    except (OSError, ValueError, TypeError, KeyError):
        pass  # not there, or of another gtea: it is quickly made again
    found = _measured(job, out, progress)
    content: dict[str, Any] = {"edges": EDGES.tolist(), "weights": {name: asdict(each) for name, each in found.items()}}
    write_json(path, content)
    return found


def _measured(job: Job, out: Path, progress: Progress) -> dict[str, WeightSummary]:
    folder = job.model_folder(out)
    if not (folder / MANIFEST).exists():
        run_job(job, out, loop.no_report)  # somebody has deleted the model, not its outcome
    request = job.request()
    if isinstance(request, LinkRequest):
        test = request.split.test
        found = attention_of(
            LinkModel.open(folder, request.device), request.store, test.as_of, np.unique(test.src), progress
        )
        return {ALL: summarise(found, np.ones(len(found.nodes), dtype=bool))}
    return _of_accounts(request, folder, progress)


def _of_accounts(request: NodeRequest, folder: Path, progress: Progress) -> dict[str, WeightSummary]:
    part = request.split().test
    assert part is not None
    labels = request.labels
    model = NodeModel.open(folder, request.device)
    found = attention_of(model, request.store, part.as_of, labels.nodes[part.index], progress)
    groups = {ALL: np.ones(len(part), dtype=bool)}
    if len(labels.classes) <= _MOST_CLASSES:
        targets = labels.targets[part.index]
        groups |= {name: targets == number for number, name in enumerate(labels.classes)}
    return {name: summarise(found, chosen) for name, chosen in groups.items()}


def summarise(attention: AttentionWeights, chosen: NDArray[np.bool_]) -> WeightSummary:
    """What the weights of some of the nodes have in common."""
    degree = np.diff(attention.offset)
    alpha = attention.alpha[np.repeat(chosen, degree)]
    degree = degree[chosen]
    degree = degree[degree > 0]
    if not len(degree):
        raise DataError("attention: an account of the test part must have a neighbour (got none). Take other data.")
    starts = np.concatenate([[0], np.cumsum(degree)[:-1]])
    zeros = np.add.reduceat((alpha == 0).astype(np.float64), starts)
    several = degree > 1
    counts, _ = np.histogram(np.clip(alpha[alpha > 0], LOWEST, 1.0), EDGES)  # a rounded 1 may be above it
    return WeightSummary(
        accounts=len(degree),
        neighbours=len(alpha),
        zero=float(np.mean(alpha == 0)),
        zero_per_account=float(np.mean(zeros[several] / degree[several])) if several.any() else 0.0,
        small=float(np.mean(alpha < SMALL)),
        effective=float(np.mean(1 / np.add.reduceat(alpha**2, starts))),
        histogram=(counts / len(alpha)).tolist(),
    )
