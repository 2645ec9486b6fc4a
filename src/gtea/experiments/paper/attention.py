"""The distribution of attention weights: exact weights of the test part's accounts over all their neighbours.

    OUT/attention/DATA-PROTOCOL/RUN.json     summary of one model; recomputed from the model if deleted

The accounts are those of the test part as of its cut: the labelled accounts, or the sources of the links to predict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import DataError, UsageError
from gtea.experiments.paper.plan import Point, setting_names, validate_models
from gtea.experiments.paper.rows import Row
from gtea.experiments.runs.jobs import Job
from gtea.experiments.runs.run_job import run_job
from gtea.models.registry import GTEA_VARIANTS
from gtea.runtime.files import write_json
from gtea.runtime.json_files import read_json
from gtea.runtime.json_shape import Every, Number
from gtea.runtime.progress import Progress, no_progress
from gtea.runtime.when_free import when_free
from gtea.scoring.attention_weights import AttentionWeights, attention_of
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.training import loop
from gtea.training.request import LinkRequest, NodeRequest

KINDS = ("sparsemax", "softmax")

ALL = "all"

SMALL = 0.1
"""Weights below this are what the paper calls small."""

_LOWEST = 1e-6

_PER_DECADE = 5

EDGES = np.geomspace(_LOWEST, 1.0, 6 * _PER_DECADE + 1)

_MAX_CLASSES = 6
"""With more classes, only the summary over all accounts is reported."""


@dataclass(frozen=True)
class WeightSummary:
    """Summary of the attention weights of a group of accounts."""

    accounts: int
    """Number of accounts with at least one neighbour."""
    neighbours: int
    zero: float
    """Share of neighbours with a weight of exactly 0."""
    zero_per_account: float
    """Mean of the same share per account with two or more neighbours, so that hubs don't dominate."""
    small: float
    """Share of neighbours with a weight below 0.1, including zeros."""
    effective: float
    """Mean effective number of neighbours per account: 1 / sum of the squared weights."""
    histogram: list[float]
    """Shares of neighbours per bin of ``EDGES``. The first bin includes smaller weights above 0."""


_SHAPE = {
    "edges": object,
    "weights": Every(
        {name: [Number] if name == "histogram" else Number for name in WeightSummary.__dataclass_fields__}
    ),
}


@dataclass(frozen=True)
class AttentionResult:
    """A table row and the weight summaries of its runs, by class of account."""

    row: Row
    weights: tuple[Mapping[str, WeightSummary], ...]

    @property
    def kind(self) -> str:
        """The attention function."""
        return str(self.row.jobs[0].config.model.attention)

    @property
    def groups(self) -> list[str]:
        """``ALL``, then the classes if they are summarised."""
        return list(self.weights[0]) if self.weights else []


def attention_points(models: Sequence[str], settings: Sequence[str] = ()) -> list[Point]:
    """Each variant with sparse and with dense attention."""
    if "model.attention" in setting_names(settings):
        raise UsageError("--set model.attention: is what this experiment varies. Leave it out.")
    for model in validate_models(models):
        if model not in GTEA_VARIANTS:
            raise UsageError(f"--models: must be GTEA variants here (got {model!r}). Try 'gtea-l+t'.")
    return [
        Point(model, {"model.attention": kind}, f"{model}, {kind}")
        for model in dict.fromkeys(models or ("gtea-l+t",))
        for kind in KINDS
    ]


def measure_attention(rows: Sequence[Row], out: Path, progress: Progress = no_progress) -> list[AttentionResult]:
    """Summarise the attention weights of every trained model. Earlier summaries are reused."""
    jobs = [job for row in rows for job in _finished(row)]
    made = dict(when_free(lambda number: _weights(jobs[number], out, progress), range(len(jobs))))
    weights = iter([made[number] for number in range(len(jobs))])
    return [AttentionResult(row, tuple(islice(weights, len(_finished(row))))) for row in rows]


def _finished(row: Row) -> list[Job]:
    labels = {outcome.label for outcome in row.finished}
    return [job for job in row.jobs if job.repeat.label in labels]


def _weights(job: Job, out: Path, progress: Progress) -> Mapping[str, WeightSummary]:
    path = out / "attention" / job.group / f"{job.stem}.json"
    try:
        record = read_json(path, _SHAPE, finite=False)
        return {group: WeightSummary(**summary) for group, summary in record["weights"].items()}
    except (OSError, ValueError):
        pass  # missing, or written by another version: quick to recompute
    summaries = _compute(job, out, progress)
    weights = {name: asdict(summary) for name, summary in summaries.items()}
    content: dict[str, Any] = {"edges": EDGES.tolist(), "weights": weights}
    write_json(path, content)
    return summaries


def _compute(job: Job, out: Path, progress: Progress) -> dict[str, WeightSummary]:
    folder = job.model_folder(out)
    run_job(job, out, loop.no_report, with_model=True)  # the model may have been deleted, but not its outcome
    request = job.request()
    if isinstance(request, LinkRequest):
        test = request.split.test
        attention = attention_of(
            LinkModel.open(folder, request.device), request.store, test.as_of, np.unique(test.src), progress
        )
        return {ALL: summarise(attention, np.ones(len(attention.nodes), dtype=bool))}
    return _account_summaries(request, folder, progress)


def _account_summaries(request: NodeRequest, folder: Path, progress: Progress) -> dict[str, WeightSummary]:
    part = request.split().test
    assert part is not None
    labels = request.labels
    model = NodeModel.open(folder, request.device)
    attention = attention_of(model, request.store, part.as_of, labels.nodes[part.index], progress)
    groups = {ALL: np.ones(len(part), dtype=bool)}
    if len(labels.classes) <= _MAX_CLASSES:
        targets = labels.targets[part.index]
        groups |= {name: targets == number for number, name in enumerate(labels.classes)}
    return {name: summarise(attention, members) for name, members in groups.items()}


def summarise(attention: AttentionWeights, members: NDArray[np.bool_]) -> WeightSummary:
    """Summarise the weights of some of the nodes."""
    degree = np.diff(attention.offset)
    alpha = attention.alpha[np.repeat(members, degree)]
    degree = degree[members]
    degree = degree[degree > 0]
    if not len(degree):
        raise DataError("attention: no account of the test part has a neighbour. Use other data.")
    starts = np.concatenate([[0], np.cumsum(degree)[:-1]])
    zeros = np.add.reduceat((alpha == 0).astype(np.float64), starts)
    several = degree > 1
    counts, _ = np.histogram(np.clip(alpha[alpha > 0], _LOWEST, 1.0), EDGES)  # rounding may put a weight above 1
    return WeightSummary(
        accounts=len(degree),
        neighbours=len(alpha),
        zero=float(np.mean(alpha == 0)),
        zero_per_account=float(np.mean(zeros[several] / degree[several])) if several.any() else 0.0,
        small=float(np.mean(alpha < SMALL)),
        effective=float(np.mean(1 / np.add.reduceat(alpha**2, starts))),
        histogram=(counts / len(alpha)).tolist(),
    )
