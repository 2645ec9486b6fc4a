"""The tasks that a scoring job is made of, whatever is scored; and what their job says of itself."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gtea.cluster.carriers import Carrier
from gtea.cluster.job_array import JobArray
from gtea.cluster.node_facts import node_facts
from gtea.cluster.part_files import is_whole, write_part_file
from gtea.cluster.scoring.encode import attend, embed, encode, weigh
from gtea.cluster.scoring.job import PLAN, REQUESTED, PartPlan, read_plan
from gtea.cluster.scoring.layers import renew, share, sum_piece
from gtea.cluster.scoring.neighbour_facts import facts, reach
from gtea.cluster.scoring.rank import digest_of
from gtea.cluster.scoring.survey import GROUP, plan, survey
from gtea.cluster.tasks import FileTask, made_by, name_of, part_path
from gtea.cluster.work_folder import delete_job, describe_job, parts_of
from gtea.errors import UsageError
from gtea.ingestion.database_address import is_database
from gtea.runtime.json_shape import Every, Natural
from gtea.runtime.progress import Progress
from gtea.runtime.remote_folder import is_address
from gtea.scoring.account_blocks import is_most, pieces_of
from gtea.scoring.edge_cache import model_digest
from gtea.scoring.options import Grain
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.scoring.table_output import TableOutput
from gtea.store.store import Store

LAST = "rank"
_SUMMARY = {"rows": Natural, "alerts": Natural, "inactive": Natural, "top": [Every(object)]}

Requested = Mapping[str, NDArray[np.int64]]
"""The accounts that are named, or the two ends of pairs, each in the order of the store."""


class ScoreRequest:
    """What is to be scored, and where."""

    def __init__(
        self,
        ready: NodeModel | LinkModel,
        opened: Store,
        out: Path,
        *,
        kind: str,
        model: Path,
        as_of: str | None,
        prevalence: float | None,
        requested: Requested | None,
        for_spreadsheets: bool,
        device: torch.device,
        parts: int | None,
        work: Path | None,
        grain: Grain,
        num_workers: int,
    ) -> None:
        """Describe the job.

        Args:
            ready: The model of the folder ``model``, made ready to score.
            kind: What is scored.
            requested: What is named; None scores all accounts.
            parts: How many parts to cut the accounts into; by default as many as the folder has, or ``num_workers``.
            work: The folder of the tasks' files; by default next to ``out``.
        """
        self.model, self.store, self.out, self.requested, self.grain = ready, opened, out, requested, grain
        self.folder = (work or out.with_name(f"{out.name}.parts")).absolute()
        opened.require_bounds_of(range(0))  # nothing but the manifest is read here
        self.cut = opened.as_of(as_of).cut
        self.parts = min(parts or parts_of(self.folder) or num_workers, max(1, opened.num_nodes))
        named = None if requested is None else b"".join(requested[name].tobytes() for name in sorted(requested))
        self._content: dict[str, Any] = {
            "format": "gtea-job",
            "format_version": 1,
            "kind": kind,
            "model": str(model.absolute()),
            "model_digest": model_digest(ready.saved),
            "store": str(opened.path),
            "data": opened.digest,
            "as_of": self.cut,
            "prevalence": prevalence,
            "requested": None if named is None else hashlib.sha256(named).hexdigest(),
            "out": str(out.absolute()),
            "for_spreadsheets": for_spreadsheets,
            "device": device.type,
            "grain": list(vars(grain).values()),
            "parts": self.parts,
            "node": node_facts(),
        }

    @property
    def output(self) -> dict[str, Any]:
        """What the last task needs to know."""
        return {"out": self._content["out"], "for_spreadsheets": self._content["for_spreadsheets"]}

    def begin(self) -> None:
        """Describe the job in its folder, or find that it has been begun."""
        describe_job(self.folder, self._content)

    def are_few(self, nodes: NDArray[np.int64], plan: PartPlan) -> bool:
        """Whether accounts are embedded from what lies around them, as one process would. Parts have checked bounds."""
        return not is_most(int(np.count_nonzero(self.store.as_of(self.cut).has_events(nodes))), plan.num_active)


def file_for_scores(out: str | Path, for_spreadsheets: bool) -> Path:
    """The path of the result. A place is refused before there is any work for it."""
    if isinstance(out, str) and is_database(out):
        raise UsageError("--on: writes scores to a file (got the address of a database). Try --out scores.parquet.")
    if is_address(out):
        raise UsageError("--on: writes scores to a file (got an address). Send it with gtea copy when it is done.")
    TableOutput(out, for_spreadsheets=for_spreadsheets)
    return Path(out)


def require_exact(model: NodeModel | LinkModel) -> None:
    """Refuse a model that has no exact scores in parts."""
    if not model.entry.exact:
        raise UsageError(
            f"--on: exact scores of GTEA and of hybrids are made in parts (got a {model.config.model.family}). "
            "Leave it out."
        )


def run_score_job(
    carrier: Carrier,
    request: ScoreRequest,
    later: Callable[[PartPlan, list[str]], list[FileTask]],
    progress: Progress,
) -> dict[str, Any] | None:
    """Run the tasks of a scoring job, and delete their files.

    Args:
        later: From the plan and the names of the surveys to all tasks that come after them; the last writes the table.

    Returns:
        What the last task says of the table; None if another process ends the job.
    """
    request.begin()
    last = _finished(request)
    if last is None:
        if request.requested is not None and not is_whole(part_path(request.folder, REQUESTED)):
            write_part_file(part_path(request.folder, REQUESTED), request.requested, {})
        first = _survey_tasks(request.store.num_nodes, request.parts)

        def all_later() -> list[FileTask]:
            return later(read_plan(request.folder), [task.name for task in first[:-1]])

        ends_here = carrier.run(first, request.folder, progress, all_later)
        last = _finished(request) if ends_here else None
    if last is None:
        return None
    if isinstance(carrier, JobArray):
        delete_job(
            request.folder, keep=(LAST, PLAN)
        )  # another job may be started again, and must find that all is done
    else:
        delete_job(request.folder)
    return last


def _finished(request: ScoreRequest) -> dict[str, Any] | None:
    """The summary of a job of which the result is there and whole."""
    if not part_path(request.folder, LAST).exists():
        return None
    last = made_by(request.folder, LAST)
    if request.out.is_file() and digest_of(request.out) == last.fact("sha256", str):
        found: dict[str, Any] = last.fact("summary", _SUMMARY)
        return found
    part_path(request.folder, LAST).unlink()
    return None


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


class Stages:
    """The tasks of a job in which all accounts are embedded."""

    def __init__(self, model: NodeModel | LinkModel, plan: PartPlan, surveys: list[str], grain: Grain) -> None:
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

    def after(self, part: int) -> tuple[str, ...]:
        """The tasks that know all of a part's accounts."""
        known = self._names("facts") if self._has_facts else ()
        return f"renew-{self._num_layers - 1}.{part}", f"encode.{part}", *known, *self._surveys

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
