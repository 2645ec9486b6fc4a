"""Scores as a ranked table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from gtea.errors import UsageError
from gtea.models.model_folder import load_model
from gtea.scoring.edge_cache import model_digest
from gtea.scoring.new_events import count_events
from gtea.scoring.options import EXACT, ScoringOptions
from gtea.scoring.prevalence import for_prevalence
from gtea.scoring.previous_scores import ScoresOrigin, read_previous
from gtea.scoring.score_changes import ChangesSummary, ScoredAccounts, changes_since
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.scoring.table_output import TableOutput
from gtea.store.store import Store
from gtea.store.view import View
from gtea.tasks.accounts import read_accounts
from gtea.tasks.pairs import read_pairs

_TOP = 10


class ScoreSummary(TypedDict):
    """What scoring did, ready for JSON."""

    out: str
    top: list[dict[str, Any]]
    """The first ten rows of the table."""
    accounts: NotRequired[int]
    """How many were scored, if accounts were."""
    pairs: NotRequired[int]
    """How many were scored, if pairs were."""
    threshold: NotRequired[float]
    """The lowest score that is an alert, if the model has two classes."""
    alerts: NotRequired[int]
    inactive: int
    """How many of them have no event before the cut."""
    as_of: int
    as_of_date: str
    sampled: bool
    input: dict[str, Any]
    """What was read and left out, if accounts or pairs were given."""
    changes: NotRequired[ChangesSummary]
    """What changed since earlier scores, if some were given."""


@dataclass(frozen=True)
class Since:
    """Earlier scores to compare with."""

    path: str
    as_of: str | None = None
    """As of when they were made, for a file that doesn't say so."""
    min_change: float = 0.01
    """The smallest difference that counts."""

    def __post_init__(self) -> None:
        if not 0 <= self.min_change <= 1:
            raise UsageError(f"--min-change: must be between 0 and 1 (got {self.min_change:g}). Try 0.01.")


def score_accounts(
    model: Path,
    store: Path,
    out: str | Path,
    *,
    accounts: Any = None,
    as_of: str | None = None,
    unknown: Literal["error", "skip"] = "error",
    prevalence: float | None = None,
    since: Since | None = None,
    options: ScoringOptions = EXACT,
    for_spreadsheets: bool = False,
    device: torch.device,
) -> ScoreSummary:
    """Score accounts and write the table; returns a summary and the first ten rows.

    Args:
        out: A file that ends in .parquet or .csv, or the address of a database that ends in /table.
        prevalence: The share of positives in the population, if the labels were sampled.
        since: Earlier scores: what changed is written beside the scores.
        for_spreadsheets: Whether ids and classes that look like formulas get a quote in front. Else they are exact.
    """
    output = TableOutput(out, for_spreadsheets=for_spreadsheets)
    if since is not None and output.is_file(Path(since.path)):
        raise UsageError(f"--since: must be another file than --out writes (got {since.path}). Keep scores by date.")
    saved = load_model(model)
    opened = Store.open(store)
    ready = NodeModel(saved if prevalence is None else for_prevalence(saved, prevalence), device)
    options = ready.supported(options)
    asked = None if accounts is None else read_accounts(accounts, opened, unknown=unknown)
    nodes = np.arange(opened.num_nodes) if asked is None else asked.nodes
    view = opened.as_of(as_of)
    before = None if since is None else read_previous(since.path, opened, since.as_of)
    active = view.has_events(nodes)
    probabilities = ready.probabilities(opened, view.cut, nodes, options)
    rows = ranked_rows(ready, nodes, probabilities, active, count_events(view, nodes))
    table = table_of_rows(ready, rows, opened.accounts.take(rows.nodes))
    report = {} if asked is None else asked.report
    digest = model_digest(ready.saved)
    changes: tuple[pa.Table, ChangesSummary] | tuple[None, None] = (None, None)
    if before is not None and since is not None:
        alerts = None if ready.threshold is None else np.asarray(table["alert"])
        now = ScoredAccounts(rows.nodes, rows.scores, alerts, rows.active, digest)
        changes = changes_since(view, now, before, since.min_change, output.changes_name)
    table = ScoresOrigin(view.cut, opened.unit, digest, asked is None).attach(table)
    output.write(table, changes[0])
    summary: ScoreSummary = {"accounts": len(table), **_summary(table, output, view, active, options, report)}
    if changes[1] is not None:
        summary["changes"] = changes[1]
    if ready.threshold is not None:
        summary["threshold"] = ready.threshold.value
        summary["alerts"] = int(np.count_nonzero(table["alert"]))
    return summary


def score_pairs(
    model: Path,
    store: Path,
    pairs: Any,
    out: str | Path,
    *,
    as_of: str | None = None,
    unknown: Literal["error", "skip"] = "error",
    options: ScoringOptions = EXACT,
    for_spreadsheets: bool = False,
    device: torch.device,
) -> ScoreSummary:
    """Score pairs and write the table, see ``score_accounts``; returns a summary and the first ten rows."""
    output = TableOutput(out, for_spreadsheets=for_spreadsheets)
    opened, ready = Store.open(store), LinkModel.open(model, device)
    options = ready.supported(options)
    found = read_pairs(pairs, opened, unknown=unknown)
    view = opened.as_of(as_of)
    active = view.has_events(found.src) & view.has_events(found.dst)
    scores = ready.probabilities(opened, view.cut, found.src, found.dst, options)
    order = np.lexsort((found.dst, found.src, -scores))
    src, dst = (opened.accounts.take(end[order]) for end in (found.src, found.dst))
    table = table_of_pairs(src, dst, scores[order], active[order])
    output.write(table)
    return {"pairs": len(table), **_summary(table, output, view, active, options, found.report)}


def table_of_pairs(
    src: pa.LargeStringArray,
    dst: pa.LargeStringArray,
    scores: NDArray[np.float64],
    active: NDArray[np.bool_],
    first_rank: int = 1,
) -> pa.Table:
    """The table of ranked pairs, or a part of it."""
    ranks = np.arange(first_rank, first_rank + len(scores))
    return pa.table({"src": src, "dst": dst, "score": scores, "rank": ranks, "active": active})


def _summary(
    table: pa.Table,
    output: TableOutput,
    view: View,
    active: NDArray[np.bool_],
    options: ScoringOptions,
    report: dict[str, Any],
) -> ScoreSummary:
    return ScoreSummary(
        out=output.name,
        top=table.slice(0, _TOP).to_pylist(),
        inactive=int((~active).sum()),
        as_of=view.cut,
        as_of_date=view.store.date(view.cut),
        sampled=options.sampled,
        input=report,
    )


class RankedRows(NamedTuple):
    """Scored accounts: the highest score first; equal scores in the store's order of accounts."""

    nodes: NDArray[np.int64]
    scores: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    active: NDArray[np.bool_]
    """Whether each has an event before the cut."""
    events: NDArray[np.int64]
    """How many events each has before the cut."""


def ranked_rows(
    model: NodeModel,
    nodes: NDArray[np.int64],
    probabilities: NDArray[np.float64],
    active: NDArray[np.bool_],
    events: NDArray[np.int64],
) -> RankedRows:
    """Put scored accounts in order."""
    scores = model.scores(probabilities)
    order = np.lexsort((nodes, -scores))
    return RankedRows(nodes[order], scores[order], probabilities[order], active[order], events[order])


def table_of_rows(model: NodeModel, rows: RankedRows, ids: pa.LargeStringArray, first_rank: int = 1) -> pa.Table:
    """The table of ranked accounts, or a part of it.

    The column ``active`` is false for an account without an event before the cut: the model knows nothing of what it
    does, and its score is no more than a prior.
    """
    columns: dict[str, Any] = {
        "account": ids,
        "score": rows.scores,
        "rank": np.arange(first_rank, first_rank + len(rows.nodes)),
    }
    if model.positive is None:
        labels = [model.classes[i] for i in rows.probabilities.argmax(axis=1)]
        columns["label"] = pa.array(labels, pa.string())
    for place, name in enumerate(model.classes):
        columns[f"p_{name}"] = rows.probabilities[:, place]
    if model.threshold is not None:
        # An account of which nothing is known is no reason to act, and no budget is spent on it.
        columns["alert"] = (rows.scores >= model.threshold.value) & rows.active
    columns["active"] = rows.active
    columns["events"] = rows.events
    return pa.table(columns)
