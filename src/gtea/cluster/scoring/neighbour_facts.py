"""The tasks ``reach`` and ``facts``: what is read of neighbours to describe an account, also of those beyond the part.

Statistics of partners read a profile of each partner, which takes a pass over all its events; neighbour labels read the
labels around each neighbour. Both are made by the part that owns the neighbour, once, and sent to those who need them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.cluster.part_files import Arrays
from gtea.cluster.scoring.exchange import granted, received, wishes
from gtea.cluster.scoring.job import PartPlan, ScoreJob, open_job, read_plan
from gtea.cluster.tasks import made_by
from gtea.features.neighbour_labels import label_shares, weights_by_class
from gtea.features.neighbour_rows import NeighbourRows
from gtea.features.node_features import Statistics
from gtea.features.partner_statistics import partner_profiles, partner_rows
from gtea.scoring.account_blocks import ActiveAccounts
from gtea.store.view import View


def reach(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """Ask for the facts of all neighbours beyond the part."""
    job, plan = open_job(folder), read_plan(folder)
    accounts = plan.accounts(arguments["part"])
    return wishes(plan, _outside(NeighbourRows.of(job.view_of(accounts), accounts).nodes, accounts)), {}


def facts(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """The profiles of a part's accounts and the weights of labels around them; for the part and for those who asked."""
    job, plan, part = open_job(folder), read_plan(folder), arguments["part"]
    accounts = plan.accounts(part)
    view = job.view_of(accounts)
    nodes = ActiveAccounts.of(view, np.arange(accounts.start, accounts.stop)).nodes
    made = dict[str, NDArray[Any]]()
    if job.reads_partners:
        profiles = partner_profiles(view, nodes)
        sent = granted(folder, part, arguments["asking"], nodes, profiles)
        made |= {"profiles": profiles, **{f"profiles-{name}": rows for name, rows in sent.items()}}
    if job.classes:
        neighbours = NeighbourRows.of(view, accounts)
        known = _classes_of(folder, arguments["surveys"], neighbours.nodes)
        weights = weights_by_class(view, neighbours, known, len(job.classes), nodes)
        sent = granted(folder, part, arguments["asking"], nodes, weights)
        made |= {"weights": weights, **{f"weights-{name}": rows for name, rows in sent.items()}}
    return {"nodes": nodes, **made}, {}


class NeighbourFacts:
    """The facts of all neighbours of a part, for its features."""

    def __init__(
        self,
        job: ScoreJob,
        plan: PartPlan,
        view: View,
        part: int,
        surveys: Sequence[str],
        *,
        profiles_only: bool = False,
    ) -> None:
        self._job, self._view, self._part, self._plan = job, view, part, plan
        self._profiles, self._weights, self._surveys = None, None, surveys
        if job.reads_partners or job.classes:
            self._neighbours = NeighbourRows.of(view, plan.accounts(part))
        if job.reads_partners:
            self._profiles = self._gathered("profiles")
        if job.classes and not profiles_only:
            self._weights = self._gathered("weights")
            self._classes = _classes_of(job.folder, surveys, self._neighbours.nodes)

    @property
    def partners(self) -> Statistics | None:
        """What computes partner statistics; None if the model has none."""
        return None if self._profiles is None else self._partner_rows

    @property
    def shares(self) -> Statistics | None:
        """What computes neighbour labels; None if the model has none."""
        return None if self._weights is None else self._label_shares

    def _partner_rows(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        assert self._profiles is not None
        return partner_rows(self._view, self._neighbours, self._profiles, nodes)

    def _label_shares(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        assert self._weights is not None
        own = _classes_of(self._job.folder, self._surveys, nodes)
        return label_shares(self._view, self._neighbours, self._classes, self._weights, nodes, own)

    def _gathered(self, name: str) -> NDArray[Any]:
        """The rows of all neighbours, those of the part among them."""
        own = made_by(self._job.folder, f"facts.{self._part}")
        own_nodes, own_rows = own.read("nodes"), own.read(name)
        accounts, all_nodes = self._plan.accounts(self._part), self._neighbours.nodes
        rows = np.empty((len(all_nodes), own_rows.shape[1]), dtype=own_rows.dtype)
        inside = (all_nodes >= accounts.start) & (all_nodes < accounts.stop)
        rows[inside] = own_rows[np.searchsorted(own_nodes, all_nodes[inside])]
        senders = [f"facts.{part}" for part in range(self._plan.num_parts)]
        rows[~inside] = received(
            self._job.folder, f"reach.{self._part}", senders, rows.shape[1], rows.dtype, kind=f"{name}-"
        )
        return rows


def _classes_of(folder: Path, surveys: Sequence[str], nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The training label of each account, -1 without one."""
    found = [made_by(folder, name) for name in surveys]
    labelled = np.concatenate([each.read("labelled") for each in found])
    classes = np.concatenate([each.read("classes") for each in found])
    if len(labelled) == 0:
        return np.full(len(nodes), -1, dtype=np.int64)
    place = np.minimum(np.searchsorted(labelled, nodes), len(labelled) - 1)
    return np.where(labelled[place] == nodes, classes[place], -1)


def _outside(nodes: NDArray[np.int64], accounts: range) -> NDArray[np.int64]:
    return nodes[(nodes < accounts.start) | (nodes >= accounts.stop)]
