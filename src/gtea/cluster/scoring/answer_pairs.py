"""The task ``answer``: scores of some pairs, ranked among themselves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gtea.cluster.part_files import Arrays
from gtea.cluster.scoring.answer import id_arrays
from gtea.cluster.scoring.exchange import received
from gtea.cluster.scoring.job import ScoreJob, open_job
from gtea.cluster.scoring.layers import dtype_of
from gtea.cluster.scoring.pair_ends import requested_pairs, statistics_apart
from gtea.sampling.pair_batches import Rows
from gtea.store.view import View


def answer_pairs(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """The scores of pairs of which the first begins a block."""
    job, asked, grants = open_job(folder), arguments["asked"], arguments["grants"]
    src, dst = requested_pairs(folder, arguments["first"], arguments["last"])
    nodes = np.unique(np.concatenate([src, dst]))
    view = job.view_around(nodes, np.unique(src))
    z = received(folder, asked, grants, job.model.config.model.d_node, dtype_of(job), kind="z-")
    scores = job.link_model.answer_pairs(
        torch.from_numpy(z).to(job.model.device),
        np.searchsorted(nodes, src),
        np.searchsorted(nodes, dst),
        view,
        src,
        dst,
        _statistics(job, view, nodes, asked, grants),
        job.grain,
    )
    place = np.arange(arguments["first"], arguments["last"])
    order = np.lexsort((place, -scores))
    active = (view.has_events(src) & view.has_events(dst))[order]
    ids = view.store.accounts
    return {
        "nodes": place[order],
        "scores": scores[order],
        "active": active.astype(np.uint8),
        **id_arrays("src", ids, src[order]),
        **id_arrays("dst", ids, dst[order]),
    }, {"inactive": int(np.count_nonzero(~active))}


def _statistics(job: ScoreJob, view: View, nodes: NDArray[np.int64], asked: str, grants: list[str]) -> Rows | None:
    """What computes the inputs of the trees, given what others have computed of the accounts at the ends."""
    statistics, scaler = statistics_apart(job, view), job.model.preprocessing.pair_statistics
    if statistics is None or scaler is None:
        return None
    width = statistics.of_accounts(nodes[:0]).shape[1]
    known = received(job.folder, asked, grants, width, np.dtype(np.float64), kind="statistics-")

    def rows(src: NDArray[np.integer[Any]], dst: NDArray[np.integer[Any]]) -> Tensor:
        ends = src.astype(np.int64), dst.astype(np.int64)
        of_ends = (known[np.searchsorted(nodes, end)] for end in ends)
        return torch.from_numpy(scaler.transform(statistics.rows(*ends, *of_ends)))

    return rows
