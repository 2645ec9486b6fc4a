"""Scores as a ranked table."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict

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
_ROWS_TOGETHER = 1 << 20
"""Rows in a row group of Parquet."""


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
    require_suffix(out, for_spreadsheets)
    saved = load_model(model)
    opened = Store.open(store)
    ready = NodeModel(saved if prevalence is None else for_prevalence(saved, prevalence), device)
    options = ready.supported(options)
    asked = None if accounts is None else read_accounts(accounts, opened, unknown=unknown)
    nodes = np.arange(opened.num_nodes) if asked is None else asked.nodes
    view = opened.as_of(as_of)
    active = view.has_events(nodes)
    probabilities = ready.probabilities(opened, view.cut, nodes, options)
    rows = ranked_rows(ready, nodes, probabilities, active)
    table = table_of_rows(ready, rows, opened.accounts.take(rows.nodes))
    report = {} if asked is None else asked.report
    write_ranked([table], out, for_spreadsheets)
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
    require_suffix(out, for_spreadsheets)
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
    write_ranked([table], out, for_spreadsheets)
    return {"pairs": len(table), **_summary(table, out, view, active, options, found.report)}


def require_suffix(out: Path, for_spreadsheets: bool) -> None:
    """Refuse a name of which the format is not known."""
    if out.suffix not in (".parquet", ".csv"):
        raise UsageError(f"--out {out.name}: must end in .parquet or .csv. Try scores.parquet.")
    if for_spreadsheets and out.suffix != ".csv":
        raise UsageError(f"--spreadsheet-safe: goes with a CSV file only (got {out.name!r}). Try scores.csv.")


def write_ranked(tables: Iterable[pa.Table], out: Path, for_spreadsheets: bool) -> None:
    """Write tables one after the other. How the rows are divided among them changes no byte of the file."""
    with atomic_write(out) as stream, contextlib.ExitStack() as stack:
        writer: Any = None
        for table in _regrouped(tables):
            safe = spreadsheet_safe(table) if for_spreadsheets else table
            if writer is None:
                make = pq.ParquetWriter if out.suffix == ".parquet" else pacsv.CSVWriter
                writer = stack.enter_context(make(stream, safe.schema))
            writer.write_table(safe)


def _regrouped(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows, ``_ROWS_TOGETHER`` at a time, each column in one piece. At least one table, if there are any."""
    held, is_first = list[pa.Table](), True
    for table in tables:
        held.append(table)
        while sum(map(len, held)) > _ROWS_TOGETHER:
            together = pa.concat_tables(held)
            yield together.slice(0, _ROWS_TOGETHER).combine_chunks()
            held, is_first = [together.slice(_ROWS_TOGETHER)], False
    if held and (is_first or sum(map(len, held))):
        yield pa.concat_tables(held).combine_chunks()


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


class RankedRows(NamedTuple):
    """Scored accounts: the highest score first; equal scores in the store's order of accounts."""

    nodes: NDArray[np.int64]
    scores: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    active: NDArray[np.bool_]
    """Whether each has an event before the cut."""


def ranked_rows(
    model: NodeModel, nodes: NDArray[np.int64], probabilities: NDArray[np.float64], active: NDArray[np.bool_]
) -> RankedRows:
    """Put scored accounts in order."""
    scores = model.scores(probabilities)
    order = np.lexsort((nodes, -scores))
    return RankedRows(nodes[order], scores[order], probabilities[order], active[order])


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
    return pa.table(columns)
