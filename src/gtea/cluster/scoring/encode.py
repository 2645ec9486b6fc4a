"""The tasks ``encode``, ``weigh``, ``attend`` and ``embed``: the attended slots of a part, and of pieces of hubs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from gtea.cluster.part_files import Arrays
from gtea.cluster.scoring.exchange import wishes
from gtea.cluster.scoring.held_runs import arrays_of, neighbours_of
from gtea.cluster.scoring.job import Hub, ScoreJob, open_job, read_plan
from gtea.cluster.scoring.neighbour_facts import NeighbourFacts
from gtea.cluster.tasks import made_by
from gtea.nn.batch import Slots
from gtea.nn.full_graph import AttendedRun
from gtea.scoring.account_blocks import ActiveAccounts, pieces_of
from gtea.scoring.descriptions import Descriptions


def encode(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """The features and the attended slots of a part's accounts, without hubs of several pieces; and its halo."""
    job, plan, part = open_job(folder), read_plan(folder), arguments["part"]
    accounts = plan.accounts(part)
    view = job.view_of(accounts)
    targets = ActiveAccounts.of(view, np.arange(accounts.start, accounts.stop))
    runs = cast(list[AttendedRun], job.blocks_of(view).runs(targets, _ignore, with_pieced=False))
    partners = None
    if job.network_reads_partners:
        partners = NeighbourFacts(job, plan, view, part, arguments["surveys"], profiles_only=True).partners
    x = Descriptions(view, job.model.preprocessing, partners).table(targets.nodes)
    found = neighbours_of(runs)
    before, after = np.searchsorted(found, [accounts.start, accounts.stop])
    halo = np.concatenate([found[:before], found[after:]])
    return {
        "nodes": targets.nodes,
        "x": x.numpy(),
        # The accounts of the part lie side by side among those that it reads.
        **arrays_of(runs, np.concatenate([found[:before], targets.nodes, found[after:]])),
        **wishes(plan, halo),
    }, {"halo": len(halo)}


def weigh(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """The attention logits of a piece of a hub."""
    job, hub, piece = _hub(folder, arguments)
    blocks = job.blocks_of(job.view_of(range(hub.node, hub.node + 1)))
    return {"alpha_tilde": blocks.weigh_piece(piece, hub.node).numpy()}, {}


def attend(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """The weights of a hub's slots, given all its logits: the one place where all slots of a hub meet."""
    job, hub, _ = _hub(folder, arguments)
    alpha_tilde = np.concatenate([made_by(folder, name).read("alpha_tilde") for name in arguments["pieces"]])
    blocks = job.blocks_of(job.view_of(range(hub.node, hub.node + 1)))
    left = blocks.attend_to(torch.from_numpy(alpha_tilde), hub.slots)
    made = dict[str, np.ndarray[Any, Any]]()
    for number, slots in enumerate(left):
        made |= {f"edge-{number}": slots.edge.numpy(), f"alpha-{number}": slots.alpha.numpy()}
        made[f"neighbour-{number}"] = slots.neighbour.numpy()
    return made, {}


def embed(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """The attended slots of a piece of a hub, and the accounts at their ends."""
    job, hub, piece = _hub(folder, arguments)
    attended, number = made_by(folder, arguments["attended"]), arguments["piece"]
    edge, alpha, neighbour = (
        torch.from_numpy(attended.read(f"{name}-{number}")) for name in ("edge", "alpha", "neighbour")
    )
    blocks = job.blocks_of(job.view_of(range(hub.node, hub.node + 1)))
    left = Slots(torch.zeros(len(edge), dtype=torch.int64), neighbour, edge, alpha)
    run = blocks.embed_piece(range(1), piece, hub.node, left)
    found = neighbours_of([run])
    return {**arrays_of([run], found), **wishes(read_plan(folder), found)}, {"halo": len(found)}


def _hub(folder: Path, arguments: dict[str, Any]) -> tuple[ScoreJob, Hub, range]:
    job, hub = open_job(folder), read_plan(folder).hubs[arguments["hub"]]
    return job, hub, pieces_of(hub.slots, job.grain)[arguments.get("piece", 0)]


def _ignore(done: float) -> None:
    """The progress of the whole is that of its tasks."""
