"""An investigation: a folder with the store, the model, the scores and the case pages of one table of transactions.

    transactions.store   gtea ingest      the events
    model                gtea train       the default model, calibrated, with its threshold
    scores.csv           gtea score       everybody, the most suspicious first
    report               gtea report      a page for each of the first accounts
    MODEL_CARD.md                         what the model is and how good it is
    investigation.json                    every guess, default and threshold, and the commands of the steps

Each step does what its command does, to the same bytes. What is there already is used again: the store, if the table
has not changed, and the model, if labels, columns and settings have not. So a table that has grown is read again and
scored, as of its end, by the model that was trained before: reading takes seconds, training minutes. A killed training
goes on from its checkpoint.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypedDict

import torch

from gtea.errors import UsageError
from gtea.explain.explainer import amount_column
from gtea.ingestion.bad_rows import BadRows
from gtea.ingestion.ingest import ingest
from gtea.models.model_folder import load_model
from gtea.report.report import ReportOptions, write_report
from gtea.runtime.device import resolve_device
from gtea.runtime.files import atomic_write, holds_only_drafts, locked, write_json
from gtea.runtime.json_files import read_json
from gtea.runtime.json_shape import Every
from gtea.runtime.progress import Progress, no_progress
from gtea.scoring.options import ScoringOptions
from gtea.scoring.table import ScoreSummary, score_accounts
from gtea.store.schema import EventColumns, Schema
from gtea.store.store import Store
from gtea.store.time_units import TimeUnit
from gtea.tasks.decision_options import DecisionOptions
from gtea.tasks.split_choice import SplitBy
from gtea.training import run_record
from gtea.training.loop import TrainingListener, no_report
from gtea.training.request import NodeRequest, result_of, run_once
from gtea.training.results import TrainingResult

_RECORD = "investigation.json"
_STORE, _MODEL, _SCORES, _CARD = "transactions.store", "model", "scores.csv", "MODEL_CARD.md"
_REPORT = "report"
_FIRST = 10


class ReportSummary(TypedDict):
    """The pages that were written."""

    index: str
    """The page to open first."""
    pages: int
    unlabelled: bool
    """Whether accounts whose labels the model was trained with are left out."""
    first: list[dict[str, Any]]
    """The first accounts: account, score, and the reason in one line."""


class InvestigationResult(TypedDict):
    """What was found, ready for JSON. Also the content of investigation.json."""

    out: str
    transactions: dict[str, Any]
    """Name, size and sha256 of the table."""
    columns: dict[str, Any]
    """What each column was taken for, and what was left out and why."""
    store: dict[str, Any]
    rows: dict[str, Any]
    """How many rows the table has, how many are events of the store, and why others were dropped."""
    new_store: bool
    model: TrainingResult
    new_model: bool
    scores: ScoreSummary
    report: ReportSummary
    commands: list[str]
    """The same step by step."""
    defaults: dict[str, Any]
    """Everything that was not asked for, as it was resolved: how the table was read, all settings of the training, and
    the options of the report."""
    model_inputs: dict[str, Any]
    """What the model was made from. Another training is due if it changes."""


@dataclass(frozen=True)
class InvestigationRequest:
    """What to investigate, and how."""

    transactions: Path
    labels: Path
    out: Path
    columns: EventColumns
    ignored: Mapping[str, str] = field(default_factory=dict)
    """Columns that are not used, and why."""
    time_unit: TimeUnit = "auto"
    """The unit of numeric times."""
    positive: str | None = None
    decisions: DecisionOptions = field(default_factory=DecisionOptions)
    split_by: SplitBy = "auto"
    settings: tuple[str, ...] = ()
    bad_rows: BadRows = "error"
    retrain: bool = False
    top: int = 200
    """How many accounts get a page."""
    spreadsheet_safe: bool = False
    """Whether scores.csv has a quote before what a spreadsheet would take for a formula."""
    device: str = "auto"

    def model_inputs(self) -> dict[str, Any]:
        """What another model would have to be trained for."""
        inputs = {
            "labels": _sha256(self.labels),
            "columns": asdict(self.columns),
            "time_unit": self.time_unit,
            "positive": self.positive,
            "decisions": asdict(self.decisions),
            "split_by": self.split_by,
            "settings": list(self.settings),
        }
        return dict(json.loads(json.dumps(inputs)))

    def commands(self, *, unlabelled: bool) -> list[str]:
        """The commands that do the same, step by step.

        Args:
            unlabelled: Whether accounts of the training are left out of the report.
        """
        columns, out = self.columns, self.out
        lists = {"--features": columns.features, "--categorical": columns.categorical}
        options = {"positive": self.positive, **self.decisions.given}
        ingested = [
            *("gtea", "ingest", str(self.transactions), "--src", columns.src, "--dst", columns.dst),
            *("--time", columns.time, "--labels", str(self.labels)),
            *(() if self.time_unit == "auto" else ("--time-unit", self.time_unit)),
            *(word for option, names in lists.items() if names for word in (option, ",".join(names))),
            *(() if self.bad_rows == "error" else ("--bad-rows", self.bad_rows)),
            *("--out", str(out / _STORE)),
        ]
        trained = [
            *("gtea", "train", str(out / _STORE), "--labels", str(self.labels), "--unknown", "skip"),
            *(word for name, value in options.items() if value is not None for word in (f"--{name}", str(value))),
            *(() if self.split_by == "auto" else ("--split", self.split_by)),
            *(word for setting in self.settings for word in ("--set", setting)),
            *("--out", str(out / _MODEL)),
        ]
        scored = ["gtea", "score", str(out / _MODEL), str(out / _STORE), "--out", str(out / _SCORES)]
        scored += ["--spreadsheet-safe"] if self.spreadsheet_safe else []
        reported = ["gtea", "report", str(out / _MODEL), str(out / _STORE), "--out", str(out / _REPORT)]
        reported += ["--top", str(self.top), *(["--unlabelled"] if unlabelled else [])]
        return [shlex.join(words) for words in (ingested, trained, scored, reported)]


def investigate(
    request: InvestigationRequest, listener: TrainingListener = no_report, progress: Progress = no_progress
) -> InvestigationResult:
    """Do all steps that are not done yet, and record them in investigation.json.

    Args:
        listener: Gets the progress of the training.
        progress: Gets that of the other steps.
    """
    _require_own(request.out)
    with locked(request.out, UsageError(f"{request.out}: another gtea investigate is running there. Wait for it.")):
        if not (request.out / _RECORD).exists():
            write_json(request.out / _RECORD, {})
        table = {"name": request.transactions.name, "bytes": request.transactions.stat().st_size}
        table["sha256"] = _sha256(request.transactions)
        store, new_store = _store(request, table, progress)
        model, new_model = _model(request, store, listener)
        scores = score_accounts(
            request.out / _MODEL,
            store.path,
            request.out / _SCORES,
            options=ScoringOptions(progress=progress),
            for_spreadsheets=request.spreadsheet_safe,
            device=resolve_device(request.device),
        )
        with atomic_write(request.out / _CARD) as stream:
            stream.write((request.out / _MODEL / _CARD).read_bytes())
        # Accounts of the training rank first, and are no discoveries.
        saved = load_model(request.out / _MODEL)
        unlabelled = saved.preprocessing["neighbour_labels"] is not None
        report = _report(request, store, unlabelled, progress)
        result = InvestigationResult(
            out=str(request.out),
            transactions=table,
            columns={**asdict(request.columns), "time_unit": request.time_unit, "ignored": dict(request.ignored)},
            store={"digest": store.digest, **store.manifest.counts},
            rows={name: store.report[name] for name in ("rows_in", "rows_kept", "dropped", "quarantine")},
            new_store=new_store,
            model=model,
            new_model=new_model,
            scores=scores,
            report=report,
            commands=request.commands(unlabelled=unlabelled),
            defaults={
                "ingest": {**store.manifest.schema, "stored_unit": store.unit, "bad_rows": request.bad_rows},
                "training": saved.config["run"],
                "report": {"top": request.top, "unlabelled": unlabelled, "amount": amount_column(store.features)},
            },
            model_inputs=request.model_inputs(),
        )
        write_json(request.out / _RECORD, dict(result))
    return result


def _require_own(out: Path) -> None:
    """Raise if the folder holds anything, but no investigation: nothing of somebody else's is written over."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: is a file. Choose another --out.")
    # The record is the first thing that is written: a store or a model without it is somebody else's.
    if out.is_dir() and not (out / _RECORD).is_file() and not holds_only_drafts(out / _RECORD):
        raise UsageError(f"{out}: is not empty and holds no investigation. Choose another --out.")


def _store(request: InvestigationRequest, table: Mapping[str, Any], progress: Progress) -> tuple[Store, bool]:
    """The store of the table, and whether it was made now."""
    path, columns = request.out / _STORE, request.columns
    if path.exists():
        there = Store.open(path)
        same_columns = Schema.from_json(there.manifest.schema).columns == columns
        same_columns &= (request.time_unit == "step") == (there.unit == "step")
        if same_columns and [source.get("sha256") for source in there.manifest.sources] == [table["sha256"]]:
            return there, False
    made = ingest(
        request.transactions,
        src=columns.src,
        dst=columns.dst,
        time=columns.time,
        time_unit=request.time_unit,
        features=columns.features,
        categorical=columns.categorical,
        labels=request.labels,
        bad_rows=request.bad_rows,
        out=path,
        overwrite=True,
        progress=progress,
    )
    return made, True


def _model(request: InvestigationRequest, store: Store, listener: TrainingListener) -> tuple[TrainingResult, bool]:
    """The model of these labels and settings, and whether it was trained now."""
    folder, inputs = request.out / _MODEL, request.model_inputs()
    same = not request.retrain and _read_json(request.out / _RECORD).get("model_inputs") == inputs
    if same and run_record.finished(folder):
        return result_of(load_model(folder), folder), False
    # Before the training: after a kill, this tells whose checkpoint it is.
    write_json(request.out / _RECORD, {**_read_json(request.out / _RECORD), "model_inputs": inputs})
    asked = NodeRequest.read(
        store.path,
        request.labels,
        settings=request.settings,
        positive=request.positive,
        split_by=request.split_by,
        unknown="skip",
        device=request.device,
        decisions=request.decisions,
    )
    if same and _read_json(folder / run_record.RUN).get("data_digest") == store.digest:
        return run_once(asked, None, str(folder), listener), True
    if folder.exists():
        shutil.rmtree(folder)
    return run_once(asked, str(folder), None, listener), True


def _report(request: InvestigationRequest, store: Store, unlabelled: bool, progress: Progress) -> ReportSummary:
    """Write the pages of the first accounts."""
    record = write_report(
        request.out / _MODEL,
        store.path,
        request.out / _REPORT,
        ReportOptions(request.top, unlabelled=unlabelled, jobs=torch.get_num_threads()),
        device=resolve_device(request.device),
        progress=progress,
    )
    first = [{name: case[name] for name in ("account", "score", "reason")} for case in record["cases"][:_FIRST]]
    return ReportSummary(
        index=str(request.out / _REPORT / "index.html"), pages=len(record["cases"]), unlabelled=unlabelled, first=first
    )


def _read_json(path: Path) -> dict[str, Any]:
    """What an earlier investigation wrote; nothing if there was none, or if it can't be read."""
    try:
        return dict(read_json(path, Every(object)))
    except (OSError, ValueError):
        return {}


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
