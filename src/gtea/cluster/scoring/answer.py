"""The tasks ``answer``: scores of a part's accounts, ranked among themselves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gtea.cluster.part_files import Arrays
from gtea.cluster.scoring.job import PartPlan, ScoreJob, open_job, read_plan, requested_of
from gtea.cluster.scoring.neighbour_facts import NeighbourFacts
from gtea.cluster.tasks import made_by
from gtea.features.node_features import HeadInputs
from gtea.sampling.tabular import NodeRows
from gtea.scoring.account_blocks import block_starts
from gtea.scoring.exact import Embedded, ExactEmbedder
from gtea.scoring.new_events import count_events
from gtea.scoring.table import ranked_rows
from gtea.store.strings import StringTable
from gtea.store.view import View


def answer(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """The scores of the accounts of a part that are requested."""
    job, plan, part = open_job(folder), read_plan(folder), arguments["part"]
    accounts = plan.accounts(part)
    view, wanted = job.view_of(accounts), requested_of(folder, accounts)
    nodes = np.arange(accounts.start, accounts.stop) if wanted is None else wanted
    active = view.has_events(nodes)
    probabilities = np.empty((len(nodes), len(job.node_model.classes)))
    facts = NeighbourFacts(job, plan, view, part, arguments["surveys"])
    if active.any():
        embedded = _embedded(job, plan, part, nodes[active])
        probabilities[active] = _answers(job, view, facts, embedded, nodes[active])
    if not active.all():
        embedder = ExactEmbedder(
            job.model.gtea, view, job.model.preprocessing, job.model.config, job.model.device, partners=facts.partners
        )
        with torch.inference_mode():
            isolated = embedder.embed_isolated(nodes[~active])
        probabilities[~active] = _answers(job, view, facts, isolated, nodes[~active])
    return _ranked(job, view, nodes, probabilities, active)


def answer_few(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """The scores of accounts that are few among all: what lies around them is read, and nothing is in parts."""
    job = open_job(folder)
    view = job.whole_view()
    nodes = requested_of(folder, range(view.store.num_nodes))
    assert nodes is not None, "all accounts are not few"
    probabilities = job.node_model.probabilities(view.store, job.cut, nodes)
    return _ranked(job, view, nodes, probabilities, view.has_events(nodes))


def _embedded(job: ScoreJob, plan: PartPlan, part: int, nodes: NDArray[np.int64]) -> Embedded:
    """What the layers have made of active accounts of a part."""
    encoded, last = made_by(job.folder, f"encode.{part}"), made_by(job.folder, f"renew-{job.num_layers - 1}.{part}")
    place = np.searchsorted(encoded.read("nodes"), nodes)
    z, x = (torch.from_numpy(each[place]).to(job.model.device) for each in (last.read("z"), encoded.read("x")))
    starts = block_starts(place + int(plan.first_rank[part]), job.grain)
    return Embedded(z, x.to(z.dtype), starts)


def _answers(
    job: ScoreJob, view: View, facts: NeighbourFacts, embedded: Embedded, nodes: NDArray[np.int64]
) -> NDArray[np.float64]:
    fitted = job.model.preprocessing
    inputs = HeadInputs(view, fitted.rank_inputs, fitted.neighbour_labels, facts.shares)
    trees = None
    if job.model.entry.has_trees:
        trees = NodeRows(view, fitted, cached=False, partners=facts.partners, shares=facts.shares).batch
    return job.node_model.answer_blocks(embedded, nodes, inputs, trees)


def _ranked(
    job: ScoreJob, view: View, nodes: NDArray[np.int64], probabilities: NDArray[np.float64], active: NDArray[np.bool_]
) -> tuple[Arrays, Mapping[str, Any]]:
    """The rows of the table, the highest score first, with the ids of the accounts."""
    rows = ranked_rows(job.node_model, nodes, probabilities, active, count_events(view, nodes))
    return {
        "nodes": rows.nodes,
        "scores": rows.scores,
        "probabilities": rows.probabilities,
        "active": rows.active.astype(np.uint8),
        "events": rows.events,
        **id_arrays("id", view.store.accounts, rows.nodes),
    }, {"inactive": int(np.count_nonzero(~active))}


def id_arrays(name: str, ids: StringTable, nodes: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """The ids of accounts as arrays of a file."""
    begin, length = ids.offsets[nodes], ids.offsets[nodes + 1] - ids.offsets[nodes]
    ends = np.cumsum(length)
    places = np.repeat(begin - ends + length, length) + np.arange(ends[-1] if len(ends) else 0)
    return {f"{name}_ends": ends.astype(np.int64), f"{name}_bytes": np.asarray(ids.data[places], dtype=np.uint8)}
