"""``gtea score --on``: the tasks of a scoring job, and its result."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from gtea.cluster.carriers import Carrier
from gtea.cluster.job_array import JobArray
from gtea.cluster.node_facts import node_facts
from gtea.cluster.part_files import is_whole, write_part_file
from gtea.cluster.scoring.answer import answer, answer_few
from gtea.cluster.scoring.encode import attend, embed, encode, weigh
from gtea.cluster.scoring.job import PLAN, REQUESTED, PartPlan, read_plan
from gtea.cluster.scoring.layers import renew, share, sum_piece
from gtea.cluster.scoring.neighbour_facts import facts, reach
from gtea.cluster.scoring.rank import digest_of, rank
from gtea.cluster.scoring.survey import GROUP, plan, survey
from gtea.cluster.tasks import FileTask, made_by, name_of, part_path
from gtea.cluster.work_folder import delete_job, describe_job, parts_of
from gtea.errors import UsageError
from gtea.ingestion.database_address import is_database
from gtea.models.model_folder import load_model
from gtea.runtime.json_shape import Every, Natural
from gtea.runtime.progress import Progress, no_progress
from gtea.scoring.account_blocks import is_most, pieces_of
from gtea.scoring.edge_cache import model_digest
from gtea.scoring.options import Grain
from gtea.scoring.prevalence import for_prevalence
from gtea.scoring.scorer import NodeModel
from gtea.scoring.table import ScoreSummary
from gtea.scoring.table_output import TableOutput
from gtea.store.store import Store
from gtea.tasks.accounts import read_accounts

_LAST = "rank"
_SUMMARY = {"accounts": Natural, "alerts": Natural, "inactive": Natural, "top": [Every(object)]}
_DEFAULT_GRAIN = Grain()


def score_accounts_on(
    carrier: Carrier,
    model: Path,
    store: Path,
    out: str | Path,
    *,
    accounts: Any = None,
    as_of: str | None = None,
    unknown: Literal["error", "skip"] = "error",
    prevalence: float | None = None,
    for_spreadsheets: bool = False,
    device: torch.device,
    parts: int | None = None,
    work: Path | None = None,
    grain: Grain = _DEFAULT_GRAIN,
    progress: Progress = no_progress,
) -> ScoreSummary | None:
    """Score accounts exactly, as ``score_accounts`` does and to the same bytes, by tasks.

    Args:
        parts: How many parts to cut the accounts into; by default as many as there are workers, or as the folder has.
        work: The folder of the tasks' files; by default next to ``out``.

    Returns:
        The summary; None if another process ends the job.
    """
    out = _file_of(out, for_spreadsheets)
    saved, opened = load_model(model), Store.open(store)
    ready = NodeModel(saved if prevalence is None else for_prevalence(saved, prevalence), device)
    if not ready.entry.exact:
        raise UsageError(
            f"--on: exact scores of GTEA and of hybrids are made in parts (got a {ready.config.model.family}). "
            "Leave it out."
        )
    folder = (work or out.with_name(f"{out.name}.parts")).absolute()
    asked = None if accounts is None else read_accounts(accounts, opened, unknown=unknown)
    requested = None if asked is None else np.unique(asked.nodes)
    view_cut = _cut(opened, as_of)
    content: dict[str, Any] = {
        "format": "gtea-job",
        "format_version": 1,
        "kind": "score accounts",
        "model": str(model.absolute()),
        "model_digest": model_digest(saved),
        "store": str(store.absolute()),
        "data": opened.digest,
        "as_of": view_cut,
        "prevalence": prevalence,
        "requested": None if requested is None else hashlib.sha256(requested.tobytes()).hexdigest(),
        "out": str(out.absolute()),
        "for_spreadsheets": for_spreadsheets,
        "device": device.type,
        "grain": list(vars(grain).values()),
        "parts": min(parts or parts_of(folder) or carrier.num_workers, max(1, opened.num_nodes)),
        "node": node_facts(),
    }
    describe_job(folder, content)
    last = _finished(folder, out)
    if last is None:
        if requested is not None and not is_whole(part_path(folder, REQUESTED)):
            write_part_file(part_path(folder, REQUESTED), {"nodes": requested}, {})
        first = _survey_tasks(opened.num_nodes, content["parts"])

        def later() -> list[FileTask]:
            return _later_tasks(ready, read_plan(folder), [task.name for task in first[:-1]], requested, content)

        ends_here = carrier.run(first, folder, progress, later)
        last = _finished(folder, out) if ends_here else None
    if last is None:
        return None
    summary = _summary(opened, ready, last, out, view_cut, {} if asked is None else asked.report)
    if isinstance(carrier, JobArray):
        delete_job(folder, keep=(_LAST, PLAN))  # another job may be started again, and must find that all is done
    else:
        delete_job(folder)
    return summary


def _file_of(out: str | Path, for_spreadsheets: bool) -> Path:
    """The path of the result. A place is refused before there is any work for it."""
    if isinstance(out, str) and is_database(out):
        raise UsageError("--on: writes scores to a file (got the address of a database). Try --out scores.parquet.")
    TableOutput(out, for_spreadsheets=for_spreadsheets)
    return Path(out)


def _survey_tasks(num_accounts: int, parts: int) -> list[FileTask]:
    """The tasks that find out where parts begin."""
    groups = -(-num_accounts // GROUP)
    bounds = np.unique(np.linspace(0, groups, parts + 1).astype(np.int64)) * GROUP
    bounds[-1] = num_accounts
    names = [f"survey.{number}" for number in range(len(bounds) - 1)]
    surveys = [
        FileTask(name, name_of(survey), {"first": int(bounds[i]), "last": int(bounds[i + 1])})
        for i, name in enumerate(names)
    ]
    arguments = {"surveys": names, "parts": parts, "accounts": num_accounts}
    return [*surveys, FileTask(PLAN, name_of(plan), arguments, tuple(names))]


def _later_tasks(
    model: NodeModel, plan: PartPlan, surveys: list[str], requested: NDArray[np.int64] | None, content: dict[str, Any]
) -> list[FileTask]:
    """All tasks that come after the plan, each after those that it reads."""
    out = {"out": content["out"], "for_spreadsheets": content["for_spreadsheets"]}
    if requested is not None and not is_most(len(requested), plan.num_active):
        few = FileTask("answer.few", name_of(answer_few), {}, (PLAN,))
        return [few, FileTask(_LAST, name_of(rank), {**out, "answers": [few.name]}, (few.name,))]
    grain, parts = Grain(*content["grain"]), range(plan.num_parts)
    made = list(_Stages(model, plan, surveys, grain).all())
    answers = [f"answer.{part}" for part in parts]
    return [*made, FileTask(_LAST, name_of(rank), {**out, "answers": answers}, tuple(answers))]


class _Stages:
    """The tasks of a job in which all accounts are scored."""

    def __init__(self, model: NodeModel, plan: PartPlan, surveys: list[str], grain: Grain) -> None:
        fitted = model.preprocessing
        trees = fitted.tree_nodes
        self._network_reads_partners = fitted.nodes.partners is not None
        self._has_facts = (
            self._network_reads_partners
            or (trees is not None and trees.partners is not None)
            or fitted.neighbour_labels is not None
        )
        self._plan, self._surveys, self._parts = plan, surveys, range(plan.num_parts)
        self._num_layers = model.config.model.num_layers
        self._pieces = [range(len(pieces_of(hub.slots, grain))) for hub in plan.hubs]

    def all(self) -> Iterator[FileTask]:
        """All of them, each after those that it reads."""
        known = self._names("facts") if self._has_facts else ()
        if known:
            yield from (FileTask(f"reach.{p}", name_of(reach), {"part": p}, (PLAN,)) for p in self._parts)
            asking = self._names("reach")
            for p in self._parts:
                arguments = {"part": p, "asking": asking, "surveys": self._surveys}
                yield FileTask(f"facts.{p}", name_of(facts), arguments, (*self._surveys, *asking))
        yield from self._hubs()
        before = known if self._network_reads_partners else ()
        for p in self._parts:
            yield FileTask(f"encode.{p}", name_of(encode), {"part": p, "surveys": self._surveys}, (PLAN, *before))
        for layer in range(self._num_layers):
            yield from self._layer(layer)
        last = f"renew-{self._num_layers - 1}"
        for p in self._parts:
            after = (f"{last}.{p}", f"encode.{p}", *known, *self._surveys)
            yield FileTask(f"answer.{p}", name_of(answer), {"part": p, "surveys": self._surveys}, after)

    def _hubs(self) -> Iterator[FileTask]:
        for hub, pieces in enumerate(self._pieces):
            for piece in pieces:
                yield FileTask(f"weigh.{hub}.{piece}", name_of(weigh), {"hub": hub, "piece": piece}, (PLAN,))
            weighed = tuple(f"weigh.{hub}.{piece}" for piece in pieces)
            yield FileTask(f"attend.{hub}", name_of(attend), {"hub": hub, "pieces": weighed}, weighed)
            for piece in pieces:
                arguments = {"hub": hub, "piece": piece, "attended": f"attend.{hub}"}
                yield FileTask(f"embed.{hub}.{piece}", name_of(embed), arguments, (f"attend.{hub}",))

    def _layer(self, layer: int) -> Iterator[FileTask]:
        embedded = [f"embed.{hub}.{piece}" for hub, pieces in enumerate(self._pieces) for piece in pieces]
        asking = (*self._names("encode"), *embedded)
        shares = self._names(f"share-{layer}")
        for p in self._parts:
            after = (*asking, f"renew-{layer - 1}.{p}") if layer else asking
            others = [name for name in asking if name != f"encode.{p}"]
            yield FileTask(shares[p], name_of(share), {"part": p, "layer": layer, "asking": others}, after)
        for name in embedded:
            arguments = {"layer": layer, "embedded": name, "shares": shares}
            yield FileTask(_sum_of(name, layer), name_of(sum_piece), arguments, (name, *shares))
        for p in self._parts:
            sums = {
                str(hub): [_sum_of(f"embed.{hub}.{piece}", layer) for piece in self._pieces[hub]]
                for hub in self._plan.hubs_of(p)
            }
            own = (f"encode.{p}", f"renew-{layer - 1}.{p}") if layer else (f"encode.{p}",)
            after = (*own, *shares, *(name for names in sums.values() for name in names))
            arguments = {"part": p, "layer": layer, "shares": shares, "sums": sums}
            yield FileTask(f"renew-{layer}.{p}", name_of(renew), arguments, after)

    def _names(self, stage: str) -> tuple[str, ...]:
        return tuple(f"{stage}.{part}" for part in self._parts)


def _sum_of(embedded: str, layer: int) -> str:
    """The task that sums up a piece of a hub in a layer."""
    return embedded.replace("embed", f"sum-{layer}")


def _cut(store: Store, as_of: str | None) -> int:
    """The cut of the job. Nothing of the store but its manifest is read."""
    store.require_bounds_of(range(0))
    return store.as_of(as_of).cut


def _finished(folder: Path, out: Path) -> dict[str, Any] | None:
    """The summary of a job of which the result is there and whole."""
    if not (folder / f"{_LAST}.part").exists():
        return None
    last = made_by(folder, _LAST)
    if out.is_file() and digest_of(out) == last.fact("sha256", str):
        found: dict[str, Any] = last.fact("summary", _SUMMARY)
        return found
    (folder / f"{_LAST}.part").unlink()
    return None


def _summary(
    store: Store, model: NodeModel, last: dict[str, Any], out: Path, cut: int, report: dict[str, Any]
) -> ScoreSummary:
    summary: ScoreSummary = {
        "accounts": last["accounts"],
        "out": str(out),
        "top": last["top"],
        "inactive": last["inactive"],
        "as_of": cut,
        "as_of_date": store.date(cut),
        "sampled": False,
        "input": report,
    }
    if model.threshold is not None:
        summary["threshold"] = model.threshold.value
        summary["alerts"] = last["alerts"]
    return summary
