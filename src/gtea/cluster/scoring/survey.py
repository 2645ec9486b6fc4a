"""The tasks ``survey`` and ``plan``: what is in ranges of accounts, and where parts begin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.cluster.part_files import Arrays
from gtea.cluster.scoring.job import open_job
from gtea.cluster.tasks import made_by
from gtea.features.neighbour_labels import labelled_nodes
from gtea.scoring.account_blocks import ActiveAccounts, target_runs
from gtea.store.graph import Graph, graph_of
from gtea.store.histories import count_kept_events

GROUP = 1 << 10
"""How many accounts are counted together."""
_COST_OF_SLOT = 4
"""What a slot costs, in events that are encoded."""
_SLOTS_AT_A_TIME = 1 << 18


def survey(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """Count the active accounts of each group in a range, and what they cost."""
    job, accounts = open_job(folder), range(arguments["first"], arguments["last"])
    view = job.view_of(accounts)
    graph, max_events = graph_of(view), job.model.config.sampling.max_events
    active, cost, hubs = list[int](), list[int](), list[NDArray[np.int64]]()
    for first in range(accounts.start, accounts.stop, GROUP):
        group = ActiveAccounts.of(view, np.arange(first, min(first + GROUP, accounts.stop)))
        active.append(len(group.nodes))
        cost.append(_COST_OF_SLOT * int(group.count.sum()))
        cost[-1] += sum(int(count_kept_events(graph, edges, max_events).sum()) for edges in _edges_of(graph, group))
        large = group.count > job.grain.slots
        hubs.append(np.stack([group.nodes[large], group.start[large], group.count[large]], axis=1))
    labels = job.model.preprocessing.neighbour_labels
    found = [np.empty(0, dtype=np.int64)] * 2
    if labels is not None:
        found = list(labelled_nodes(view.store, labels, np.arange(accounts.start, accounts.stop)))
    return {
        "active": np.array(active, dtype=np.int64),
        "cost": np.array(cost, dtype=np.int64),
        "hubs": hubs or np.empty((0, 3), dtype=np.int64),
        "labelled": found[0],
        "classes": found[1],
    }, {}


def _edges_of(graph: Graph, group: ActiveAccounts) -> Iterator[NDArray[np.int64]]:
    """The edges of the slots of a group, some at a time, however many a hub has."""
    runs = target_runs(group.count, np.zeros_like(group.count), [len(group.nodes)], _SLOTS_AT_A_TIME, 1)
    for run in runs:
        if len(run) > 1:
            yield graph.slot_edge[group.slots_of(run)[0]]
            continue
        first = int(group.start[run.start])
        last = first + int(group.count[run.start])
        for slot in range(first, last, _SLOTS_AT_A_TIME):
            yield graph.slot_edge[slot : min(slot + _SLOTS_AT_A_TIME, last)]


def plan(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """Cut the accounts where blocks begin, into parts of about the same cost."""
    job = open_job(folder)
    surveys = [made_by(folder, name) for name in arguments["surveys"]]
    active, cost, hubs = (np.concatenate([each.read(name) for each in surveys]) for name in ("active", "cost", "hubs"))
    active_before, cost_before = (np.concatenate([[0], np.cumsum(each)]) for each in (active, cost))
    shares = np.arange(1, arguments["parts"]) * cost_before[-1] // arguments["parts"]
    ranks = np.interp(shares, cost_before, active_before)
    size = job.grain.accounts
    blocks = np.unique(np.round(ranks / size).astype(np.int64))
    first_rank = blocks[(blocks > 0) & (blocks * size < active_before[-1])] * size
    bounds = [0, *(_account_of(job_rank, active_before, folder, arguments) for job_rank in first_rank)]
    return {
        "bounds": np.array([*bounds, arguments["accounts"]], dtype=np.int64),
        "first_rank": np.concatenate([[0], first_rank]).astype(np.int64),
        "hubs": hubs,
    }, {"num_active": int(active_before[-1]), "slots_and_events": int(cost_before[-1])}


def _account_of(rank: int, active_before: NDArray[np.int64], folder: Path, arguments: dict[str, Any]) -> int:
    """The active account that comes after so many others. Groups are those of the surveys, which begin at multiples."""
    group = int(np.searchsorted(active_before, rank, side="right")) - 1
    accounts = range(group * GROUP, min((group + 1) * GROUP, arguments["accounts"]))
    found = ActiveAccounts.of(open_job(folder).view_of(accounts), np.arange(accounts.start, accounts.stop))
    return int(found.nodes[rank - active_before[group]])
