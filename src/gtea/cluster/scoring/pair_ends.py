"""The tasks ``ends``, ``few`` and ``grant``: what is known of the accounts at the ends of pairs, for who scores them.

A part of the pairs names the accounts at their ends, and each part of the accounts sends it their embeddings and their
statistics, each of which takes a pass over all events of the account. So nothing else crosses, and nothing of an
account is computed by every part that has a pair with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gtea.cluster.part_files import Arrays
from gtea.cluster.scoring.event_times import lookup_for
from gtea.cluster.scoring.exchange import granted, wishes
from gtea.cluster.scoring.job import REQUESTED, PartPlan, ScoreJob, open_job, read_plan
from gtea.cluster.scoring.neighbour_facts import NeighbourFacts
from gtea.cluster.tasks import made_by
from gtea.features.pair_statistics import PairStatisticsApart
from gtea.scoring.exact import ExactEmbedder
from gtea.scoring.options import EXACT
from gtea.store.graph import graph_of
from gtea.store.view import View

FEW = "few"


def ends(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """Ask for the accounts at the ends of some pairs."""
    src, dst = requested_pairs(folder, arguments["first"], arguments["last"])
    return wishes(read_plan(folder), np.unique(np.concatenate([src, dst]))), {}


def few(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """The embeddings of accounts that are few among all: what lies around them is read, and nothing is in parts."""
    job = open_job(folder)
    nodes, view = np.unique(np.concatenate(requested_pairs(folder))), job.whole_view()
    return {"nodes": nodes, "z": job.model.embedded(view.store, job.cut, nodes, EXACT).z.cpu().numpy()}, {}


def grant(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """What others need to know of a part's accounts: their embeddings and, if the model reads them, statistics."""
    job, plan, part = open_job(folder), read_plan(folder), arguments["part"]
    asking = arguments["asking"]
    nodes = np.unique(np.concatenate([made_by(folder, name).read(f"wanted-{part}") for name in asking]))
    view = job.view_of(plan.accounts(part))
    rows: dict[str, NDArray[Any]] = {"z": _embeddings(job, plan, view, nodes, arguments)}
    statistics = statistics_apart(job, view)
    if statistics is not None:
        rows["statistics"] = statistics.of_accounts(nodes)
    sent = {
        f"{kind}-{name}": each
        for kind, table in rows.items()
        for name, each in granted(folder, part, asking, nodes, table).items()
    }
    return sent, {"sent_bytes": sum(each.nbytes for each in sent.values())}


def statistics_apart(job: ScoreJob, view: View) -> PairStatisticsApart | None:
    """What computes pair statistics in a part; None if the model reads none."""
    fitted = job.model.preprocessing
    if fitted.pair_statistics is None:
        return None
    per_unit = fitted.events_per_unit or fitted.times.stored_per_unit(view.store.unit)
    return PairStatisticsApart(graph_of(view), lookup_for(job), per_unit)


def requested_pairs(
    folder: Path, first: int = 0, last: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Some of the pairs that are to be scored, in the order of both ends."""
    file = made_by(folder, REQUESTED)
    count = (file.num_rows("src") if last is None else last) - first
    src, dst = (file.read_rows(name, first, count) for name in ("src", "dst"))
    return src, dst


def _embeddings(
    job: ScoreJob, plan: PartPlan, view: View, nodes: NDArray[np.int64], arguments: dict[str, Any]
) -> NDArray[Any]:
    """What the layers have made of accounts of a part; those without an event before the cut are embedded here."""
    if arguments["few"]:
        made = made_by(job.folder, FEW)
        found: NDArray[Any] = made.read("z")[np.searchsorted(made.read("nodes"), nodes)]
        return found
    part, active = arguments["part"], view.has_events(nodes)
    encoded, last = made_by(job.folder, f"encode.{part}"), made_by(job.folder, f"renew-{job.num_layers - 1}.{part}")
    known = last.read("z")
    z = np.empty((len(nodes), known.shape[1]), dtype=known.dtype)
    z[active] = known[np.searchsorted(encoded.read("nodes"), nodes[active])]
    if not active.all():
        facts = NeighbourFacts(job, plan, view, part, arguments["surveys"])
        model = job.model
        embedder = ExactEmbedder(
            model.gtea, view, model.preprocessing, model.config, model.device, partners=facts.partners
        )
        with torch.inference_mode():
            z[~active] = embedder.embed_isolated(nodes[~active]).z.cpu().numpy()
    return z
