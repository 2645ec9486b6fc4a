"""A report: the accounts to look at first, a page for each, and an index."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gtea.errors import UsageError
from gtea.explain.explainer import Explainer
from gtea.explain.explanation import Explanation
from gtea.report.case import case_of
from gtea.report.case_page import Place, render_case
from gtea.report.case_writer import CaseRequest, CaseWriter, write_text
from gtea.report.clock import Clock
from gtea.report.common_facts import common_facts
from gtea.report.dealings import dealings_of
from gtea.report.exports import FILES, ExportOptions
from gtea.report.focus import reaching, shortest_window
from gtea.report.index_page import render_index
from gtea.report.index_row import IndexRow
from gtea.report.known_labels import KnownLabels
from gtea.report.page_tasks import write_in_processes
from gtea.report.ranking import Ranking, ranked
from gtea.runtime.files import BusyError, holds_only_drafts, locked, write_json
from gtea.runtime.json_files import read_json
from gtea.runtime.json_shape import ObjectOf
from gtea.runtime.progress import Progress, no_progress
from gtea.scoring.edge_cache import model_digest
from gtea.scoring.options import ScoringOptions
from gtea.scoring.scorer import NodeModel
from gtea.store.store import Store
from gtea.store.view import View
from gtea.tasks.accounts import read_accounts

_RECORD = "report.json"
_OWN_FILE = re.compile(rf"index\.html|\d+\.html|files/\d+/({'|'.join(map(re.escape, FILES))})")


@dataclass(frozen=True)
class ReportOptions:
    """What to report on, and how."""

    top: int = 200
    as_of: str | None = None
    accounts: Any = None
    """A table of accounts to choose from; None for all."""
    unlabelled: bool = False
    """Whether to leave out accounts whose labels the model was trained with."""
    exports: ExportOptions | None = field(default_factory=ExportOptions)
    """None for pages alone."""
    amount: str | None = None
    """The event feature that is summed up as received and sent; None for one whose name says so."""
    jobs: int = 1
    """How many processes write pages."""


def write_report(
    model: Path,
    store: Path,
    out: Path,
    options: ReportOptions,
    *,
    device: torch.device,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Write the pages of the accounts with the highest scores, and the index; returns the record of the report."""
    require_possible(out, options)
    with written_alone(out):
        plan = plan_report(model, store, out, options, device=device, progress=progress)
        progress("writing pages", 0.0)
        if options.jobs == 1:
            rows = _write_pages(plan, progress)
        else:
            rows = write_in_processes(plan.request, plan.chosen, options.jobs, progress)
        return finish_report(plan, rows, unlabelled=options.unlabelled)


def require_possible(out: Path, options: ReportOptions) -> None:
    """Refuse options that can't be, and a folder of somebody else's."""
    if options.top < 1 or options.jobs < 1:
        raise UsageError(f"--top, --jobs: must be at least 1 (got {options.top} and {options.jobs}). Try 200 and 2.")
    _require_own(out)


def written_alone(out: Path, *, timeout: float = 0.0) -> AbstractContextManager[int]:
    """Hold the lock of a report's folder.

    Args:
        timeout: How many seconds to wait for it.
    """
    return locked(out, BusyError(f"{out}: another gtea report is being written there. Wait for it."), timeout=timeout)


@dataclass(frozen=True)
class ReportPlan:
    """A report whose pages are still to be written."""

    request: CaseRequest
    chosen: Sequence[tuple[int, int]]
    """The nodes that get a page, and their ranks."""
    model: NodeModel
    view: View


def plan_report(
    model: Path, store: Path, out: Path, options: ReportOptions, *, device: torch.device, progress: Progress
) -> ReportPlan:
    """Rank all accounts, choose those that get a page, and note which files of the folder are ours."""
    earlier = _earlier_files(out)
    opened = Store.open(store)
    ready = NodeModel.open(model, device)
    view = opened.as_of(options.as_of)
    ranking = rank_accounts(ready, view, progress)
    labels = KnownLabels(opened, ready.preprocessing.neighbour_labels)
    chosen = _chosen(ranking, opened, labels, options)
    request = _request(ready, model, store, view, ranking, chosen, out, options)
    # First, so that a killed report is known for one, and all its files for ours.
    write_json(out / _RECORD, {"files": sorted({*earlier, *_files(len(chosen), request)})})
    return ReportPlan(request, chosen, ready, view)


def finish_report(plan: ReportPlan, rows: Sequence[IndexRow], *, unlabelled: bool) -> dict[str, Any]:
    """Write the index and the record of a report whose pages are there. Returns the record."""
    request, out = plan.request, Path(plan.request.out)
    earlier = _earlier_files(out)
    clock = Clock(plan.view.store.unit)
    as_of = int(clock.page_time(np.array([plan.view.cut]))[0])
    record = _record(request, plan.model, plan.view, rows)
    footer = [
        ("Model", f"{request.common.model_name} sha256:{record['model_digest']}"),
        ("Data", f"{request.common.store_name} sha256:{record['data_digest']}, as of {record['as_of']}"),
        ("Made by", f"gtea {request.common.version}"),
    ]
    index = render_index(request.common, rows, clock, request.window, as_of, footer, unlabelled=unlabelled)
    write_text(out / "index.html", index)
    write_json(out / _RECORD, record)
    for name in earlier - set(record["files"]):
        _delete_plain(out, name)
    return record


def write_single_case(
    explainer: Explainer, explanation: Explanation, model_path: Path, out: Path, progress: Progress = no_progress
) -> None:
    """Write the page of an account that was explained, alone. All accounts are scored, to say where it stands."""
    model, store, view = explainer.model, explainer.store, explainer.view
    assert isinstance(model, NodeModel), "the page is about one account"
    if not explanation.active:
        raise UsageError(
            f"{explanation.account}: has no event before {explanation.as_of}, so there is nothing to show. "
            "Try a later --as-of."
        )
    ranking = rank_accounts(model, view, progress)
    rank = ranking.rank(store.node(explanation.account))
    common = common_facts(model, model_path.name, store.path.name, ranking, ranking.scores[rank - 1 : rank])
    labels = KnownLabels(store, model.preprocessing.neighbour_labels)
    write_text(out, render_case(case_of(common, labels, explanation, store, rank)))


def rank_accounts(model: NodeModel, view: View, progress: Progress = no_progress) -> Ranking:
    """Score all accounts that have an event before the cut, exactly."""
    nodes = np.arange(view.store.num_nodes)
    nodes = nodes[view.has_events(nodes)]
    if not len(nodes):
        raise UsageError(f"--as-of: no account has an event before {view.store.date(view.cut)}. Try a later time.")
    options = model.supported(ScoringOptions(progress=progress))
    return ranked(nodes, model.scores(model.probabilities(view.store, view.cut, nodes, options)))


def _chosen(ranking: Ranking, store: Store, labels: KnownLabels, options: ReportOptions) -> list[tuple[int, int]]:
    """The nodes to report on and their ranks."""
    among = np.arange(len(ranking))
    if options.accounts is not None:
        wanted = read_accounts(options.accounts, store).nodes
        among = np.flatnonzero(np.isin(ranking.nodes, wanted))
        if not len(among):
            raise UsageError("--accounts: none of them has an event before --as-of. Name others, or a later time.")
    if options.unlabelled:
        if labels.labels is None:
            raise UsageError("--unlabelled: this model keeps no labels of its training. Choose accounts by --accounts.")
        known = labels.of(ranking.nodes[among].tolist())
        among = among[[label is None for label in known]]
        if not len(among):
            raise UsageError("--unlabelled: the model was trained with the labels of all accounts. Leave it out.")
    return [(int(ranking.nodes[place]), int(place) + 1) for place in among[: options.top]]


def _request(
    model: NodeModel,
    model_path: Path,
    store_path: Path,
    view: View,
    ranking: Ranking,
    chosen: Sequence[tuple[int, int]],
    out: Path,
    options: ReportOptions,
) -> CaseRequest:
    scores = ranking.scores[[rank - 1 for _, rank in chosen]]
    return CaseRequest(
        str(model_path.absolute()),
        str(store_path.absolute()),
        view.store.digest,
        view.cut,
        str(out.absolute()),
        tuple(node for node, _ in chosen),
        _window(view, [node for node, _ in chosen]),
        common_facts(model, model_path.name, store_path.name, ranking, scores),
        options.exports,
        options.amount,
    )


def _window(view: View, nodes: Sequence[int]) -> tuple[int, int]:
    """The page time that holds most of what the accounts did, each counting the same, and something of each."""
    times = [dealings_of(view, node, None).page_time for node in nodes]
    weights = np.concatenate([np.full(len(some), 1 / max(len(some), 1)) for some in times])
    first, last = reaching(shortest_window(np.concatenate(times), weights, 0.9), times)
    return first, last + 1


def _write_pages(plan: ReportPlan, progress: Progress) -> list[IndexRow]:
    """Write the pages in this process, one after the other."""
    writer, rows = CaseWriter(plan.request, plan.model, plan.view.store), list[IndexRow]()
    for number, (node, rank) in enumerate(plan.chosen, start=1):
        rows.append(writer.write(node, rank, number))
        progress("writing pages", number / len(plan.chosen))
    return rows


def _record(request: CaseRequest, model: NodeModel, view: View, rows: Sequence[IndexRow]) -> dict[str, Any]:
    pages = _pages(len(rows))
    return {
        "model": request.common.model_name,
        "model_digest": model_digest(model.saved),
        "store": request.common.store_name,
        "data_digest": view.store.digest,
        "as_of": view.store.date(view.cut),
        "gtea": request.common.version,
        "accounts_ranked": request.common.num_accounts,
        "cases": [
            {"page": page, "account": row.whole, "score": row.score, "known": row.known, "reason": row.reason}
            for page, row in zip(pages, rows, strict=True)
        ],
        "files": _files(len(rows), request),
    }


def _pages(count: int) -> list[str]:
    place = Place(0, count, len(str(count)))
    return [place.file(number) for number in range(1, count + 1)]


def _files(count: int, request: CaseRequest) -> list[str]:
    """The files of a report of so many pages, apart from its record."""
    pages = _pages(count)
    beside = [] if request.exports is None else [f"files/{page[:-5]}/{name}" for page in pages for name in FILES]
    return ["index.html", *pages, *beside]


def _require_own(out: Path) -> None:
    """Refuse a folder that holds anything, but no report: nothing of somebody else's is written over."""
    if holds_only_drafts(out / _RECORD) or _earlier_record(out) is not None:
        return
    if out.exists() or out.is_symlink():
        raise UsageError(f"{out}: exists and is no report of ours. Name another folder, or remove it.")


def _earlier_record(out: Path) -> dict[str, Any] | None:
    try:
        return dict(read_json(out / _RECORD, ObjectOf({"files": [str]}, others=object), finite=False))
    except (OSError, ValueError):
        return None


def _earlier_files(out: Path) -> set[str]:
    """The files of an earlier report in the same folder: only such as a report has, whatever its record says."""
    record = _earlier_record(out)
    return set() if record is None else {name for name in record["files"] if _OWN_FILE.fullmatch(name)}


def _delete_plain(out: Path, name: str) -> None:
    """Delete a file of an earlier report, unless it is behind a link to another folder."""
    file = out / name
    if file.parent.resolve() == out.resolve() / Path(name).parent:
        file.unlink(missing_ok=True)
