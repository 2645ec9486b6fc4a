"""Scores as a ranked table."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import torch
from numpy.typing import NDArray

from gtea.errors import UsageError
from gtea.models.model_folder import load_model
from gtea.runtime.files import atomic_write
from gtea.runtime.spreadsheet import spreadsheet_safe
from gtea.scoring.options import EXACT, ScoringOptions
from gtea.scoring.prevalence import for_prevalence
from gtea.scoring.scorer import LinkModel, NodeModel
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


def score_accounts(
    model: Path,
    store: Path,
    out: Path,
    *,
    accounts: Any = None,
    as_of: str | None = None,
    unknown: Literal["error", "skip"] = "error",
    prevalence: float | None = None,
    options: ScoringOptions = EXACT,
    for_spreadsheets: bool = False,
    device: torch.device,
) -> ScoreSummary:
    """Score accounts and write the table; returns a summary and the first ten rows.

    Args:
        prevalence: The share of positives in the population, if the labels were sampled.
        for_spreadsheets: Whether ids and classes that look like formulas get a quote in front. Else they are exact.
    """
    _require_suffix(out, for_spreadsheets)
    saved = load_model(model)
    opened = Store.open(store)
    ready = NodeModel(saved if prevalence is None else for_prevalence(saved, prevalence), device)
    options = ready.supported(options)
    asked = None if accounts is None else read_accounts(accounts, opened, unknown=unknown)
    nodes = np.arange(opened.num_nodes) if asked is None else asked.nodes
    view = opened.as_of(as_of)
    active = view.has_events(nodes)
    probabilities = ready.probabilities(opened, view.cut, nodes, options)
    table = _ranked(opened, ready, nodes, probabilities, active)
    report = {} if asked is None else asked.report
    _write(table, out, for_spreadsheets)
    summary: ScoreSummary = {"accounts": len(table), **_summary(table, out, view, active, options, report)}
    if ready.threshold is not None:
        summary["threshold"] = ready.threshold.value
        summary["alerts"] = int(np.count_nonzero(table["alert"]))
    return summary


def score_pairs(
    model: Path,
    store: Path,
    pairs: Any,
    out: Path,
    *,
    as_of: str | None = None,
    unknown: Literal["error", "skip"] = "error",
    options: ScoringOptions = EXACT,
    for_spreadsheets: bool = False,
    device: torch.device,
) -> ScoreSummary:
    """Score pairs and write the table, see ``score_accounts``; returns a summary and the first ten rows."""
    _require_suffix(out, for_spreadsheets)
    opened, ready = Store.open(store), LinkModel.open(model, device)
    options = ready.supported(options)
    found = read_pairs(pairs, opened, unknown=unknown)
    view = opened.as_of(as_of)
    active = view.has_events(found.src) & view.has_events(found.dst)
    scores = ready.probabilities(opened, view.cut, found.src, found.dst, options)
    order = np.lexsort((found.dst, found.src, -scores))
    columns = {
        "src": opened.accounts.take(found.src[order]),
        "dst": opened.accounts.take(found.dst[order]),
        "score": scores[order],
        "rank": np.arange(1, len(found) + 1),
        "active": active[order],
    }
    table = pa.table(columns)
    _write(table, out, for_spreadsheets)
    return {"pairs": len(table), **_summary(table, out, view, active, options, found.report)}


def _require_suffix(out: Path, for_spreadsheets: bool) -> None:
    if out.suffix not in (".parquet", ".csv"):
        raise UsageError(f"--out {out.name}: must end in .parquet or .csv. Try scores.parquet.")
    if for_spreadsheets and out.suffix != ".csv":
        raise UsageError(f"--spreadsheet-safe: goes with a CSV file only (got {out.name!r}). Try scores.csv.")


def _write(table: pa.Table, out: Path, for_spreadsheets: bool) -> None:
    with atomic_write(out) as stream:
        if out.suffix == ".parquet":
            pq.write_table(table, stream)
        else:
            pacsv.write_csv(spreadsheet_safe(table) if for_spreadsheets else table, stream)


def _summary(
    table: pa.Table,
    out: Path,
    view: View,
    active: NDArray[np.bool_],
    options: ScoringOptions,
    report: dict[str, Any],
) -> ScoreSummary:
    return ScoreSummary(
        out=str(out),
        top=table.slice(0, _TOP).to_pylist(),
        inactive=int((~active).sum()),
        as_of=view.cut,
        as_of_date=view.store.date(view.cut),
        sampled=options.sampled,
        input=report,
    )


def _ranked(
    store: Store,
    model: NodeModel,
    nodes: NDArray[np.int64],
    probabilities: NDArray[np.float64],
    active: NDArray[np.bool_],
) -> pa.Table:
    """The highest score first; equal scores in the store's order of accounts.

    The column ``active`` is false for an account without an event before the cut: the model knows nothing of what it
    does, and its score is no more than a prior.
    """
    scores = model.scores(probabilities)
    order = np.lexsort((nodes, -scores))
    columns: dict[str, Any] = {
        "account": store.accounts.take(nodes[order]),
        "score": scores[order],
        "rank": np.arange(1, len(nodes) + 1),
    }
    if model.positive is None:
        columns["label"] = [model.classes[i] for i in probabilities[order].argmax(axis=1)]
    for place, name in enumerate(model.classes):
        columns[f"p_{name}"] = probabilities[order, place]
    if model.threshold is not None:
        # An account of which nothing is known is no reason to act, and no budget is spent on it.
        columns["alert"] = ((scores >= model.threshold.value) & active)[order]
    columns["active"] = active[order]
    return pa.table(columns)
