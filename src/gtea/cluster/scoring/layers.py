"""The tasks ``share``, ``sum`` and ``renew``: a layer of the network over all parts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gtea.cluster.part_files import Arrays
from gtea.cluster.scoring.exchange import asked, granted, receive, received
from gtea.cluster.scoring.held_runs import StoredRuns
from gtea.cluster.scoring.job import ScoreJob, open_job, read_plan
from gtea.cluster.tasks import made_by
from gtea.nn.full_graph import AttendedRun, LayerPass, SummedRun, summed_pieces
from gtea.runtime.parallel import parallel_map


def share(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """What others read of a part's accounts in a layer."""
    job, part, depth = open_job(folder), arguments["part"], arguments["layer"]
    nodes, z = _own(job, part, depth)
    layer = job.layer(depth, z.shape[1])
    made = torch.empty(len(z), layer.d_hidden, dtype=z.dtype)
    _read_nodes(job, layer, z, made)
    rows = made.numpy()
    sent = granted(folder, part, arguments["asking"], nodes, rows)
    return sent, {"sent_bytes": sum(each.nbytes for each in sent.values()), "width": rows.shape[1]}


def sum_piece(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """What a piece of a hub adds up in a layer."""
    job, name = open_job(folder), arguments["embedded"]
    layer = job.layer(arguments["layer"], _width(job, arguments["layer"]))
    rows = torch.from_numpy(received(folder, name, arguments["shares"], layer.d_hidden, dtype_of(job)))
    run = StoredRuns(made_by(folder, name)).read(0)
    ((s, weight),) = parallel_map(lambda _: layer.sums(rows.to(job.model.device), run), [0], job.model.device)
    return {"s": s.double().cpu().numpy(), "weight": weight.double().cpu().numpy()}, {}


def renew(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """The next embeddings of a part's accounts."""
    job, plan = open_job(folder), read_plan(folder)
    part, depth, device = arguments["part"], arguments["layer"], job.model.device
    nodes, z = _own(job, part, depth)
    layer, name = job.layer(depth, z.shape[1]), f"encode.{part}"
    halo = asked(folder, name, plan.num_parts)
    # The accounts of the part lie side by side among those that it reads, as in ``encode``.
    before = int(np.searchsorted(halo, plan.accounts(part).start))
    after, shares = before + len(nodes), arguments["shares"]
    rows = torch.empty(len(halo) + len(nodes), layer.d_hidden, dtype=z.dtype)
    receive(folder, name, shares[:part], rows[:before].numpy())
    receive(folder, name, shares[part + 1 :], rows[after:].numpy())
    _read_nodes(job, layer, z, rows[before:after])
    from_node, runs = rows.to(device), StoredRuns(made_by(folder, name))
    summed = [
        _summed(folder, int(np.searchsorted(nodes, plan.hubs[hub].node)), names) for hub, names in _hubs(arguments)
    ]
    z_new = z.new_empty(len(z), layer.d_out)

    def update(run: AttendedRun | SummedRun) -> None:
        own = slice(run.targets.start, run.targets.stop)
        layer.renew(z[own], *layer.sums(from_node, run), out=z_new[own])

    for _ in parallel_map(lambda number: update(runs.read(number)), range(len(runs)), device):
        pass
    for _ in parallel_map(update, summed, device):
        pass
    return {"z": z_new.cpu().numpy()}, {}


def _hubs(arguments: dict[str, Any]) -> list[tuple[int, list[str]]]:
    return [(int(hub), names) for hub, names in arguments["sums"].items()]


def _summed(folder: Path, place: int, names: list[str]) -> SummedRun:
    """The sums of a hub, given those of its pieces in order."""
    files = [made_by(folder, name) for name in names]
    pieces = ((torch.from_numpy(file.read("s")), torch.from_numpy(file.read("weight"))) for file in files)
    return summed_pieces(range(place, place + 1), pieces)


def _own(job: ScoreJob, part: int, depth: int) -> tuple[NDArray[np.int64], Tensor]:
    """The active accounts of a part, and their z before a layer."""
    encoded = made_by(job.folder, f"encode.{part}")
    if depth:
        z = torch.from_numpy(made_by(job.folder, f"renew-{depth - 1}.{part}").read("z"))
        return encoded.read("nodes"), z.to(job.model.device)
    x = torch.from_numpy(encoded.read("x")).to(job.model.device, job.model.gtea.edge_encoder.a.dtype)
    return encoded.read("nodes"), job.model.gtea.initial_embeddings(x)


def _read_nodes(job: ScoreJob, layer: LayerPass, z: Tensor, rows: Tensor) -> None:
    """W_z z + b_1 of accounts of which the first begins a block, in the blocks of one process, to rows on the CPU."""

    def read(first: int) -> None:
        block = slice(first, first + job.grain.accounts)
        rows[block] = layer.from_nodes(z[block])

    for _ in parallel_map(read, range(0, len(z), job.grain.accounts), z.device):
        pass


def _width(job: ScoreJob, depth: int) -> int:
    """The width of z before a layer."""
    config = job.model.config.model
    return config.d_node if depth else job.model.preprocessing.d_node


def dtype_of(job: ScoreJob) -> np.dtype[Any]:
    """The numbers in which the network computes."""
    return np.dtype(str(job.model.gtea.edge_encoder.a.dtype).removeprefix("torch."))
