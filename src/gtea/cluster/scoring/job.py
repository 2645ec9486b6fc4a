"""What all tasks of a scoring job have in common: the model, the store, the cut and the plan."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtea.cluster.node_facts import require_same_node
from gtea.cluster.part_files import PartFile
from gtea.cluster.tasks import made_by
from gtea.cluster.work_folder import read_job
from gtea.errors import UsageError
from gtea.models.model_folder import load_model
from gtea.nn.full_graph import LayerPass, layer_pass
from gtea.runtime.device import resolve_device
from gtea.runtime.json_shape import Natural
from gtea.sampling.collate import HistoryReader
from gtea.scoring.account_blocks import AccountBlocks
from gtea.scoring.edge_cache import model_digest
from gtea.scoring.edge_pass import EdgePass
from gtea.scoring.options import Grain
from gtea.scoring.prevalence import for_prevalence
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.store.store import Store
from gtea.store.view import View

PLAN = "plan"
REQUESTED = "requested"
ACCOUNTS, PAIRS = "score accounts", "score pairs"
"""The kinds of job."""


@dataclass(frozen=True)
class ScoreJob:
    """A scoring job, opened in this process."""

    folder: Path
    content: dict[str, Any]
    model: NodeModel | LinkModel
    grain: Grain

    @property
    def node_model(self) -> NodeModel:
        """The model of a job that scores accounts."""
        assert isinstance(self.model, NodeModel), "pairs have other tasks"
        return self.model

    @property
    def link_model(self) -> LinkModel:
        """The model of a job that scores pairs."""
        assert isinstance(self.model, LinkModel), "accounts have other tasks"
        return self.model

    @property
    def cut(self) -> int:
        """The cut, as a stored time."""
        return int(self.content["as_of"])

    @property
    def num_layers(self) -> int:
        """How many layers the network has."""
        return self.model.config.model.num_layers

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of neighbour labels; none if the model reads no labels."""
        labels = self.model.preprocessing.neighbour_labels
        return () if labels is None else labels.classes

    @property
    def network_reads_partners(self) -> bool:
        """Whether the network's features are about partners, too."""
        return self.model.preprocessing.nodes.partners is not None

    @property
    def reads_partners(self) -> bool:
        """Whether any feature is about partners."""
        trees = self.model.preprocessing.tree_nodes
        return self.network_reads_partners or (trees is not None and trees.partners is not None)

    def view_of(self, accounts: range) -> View:
        """The view, of which nothing but a range of accounts may be read."""
        store = self._store()
        store.require_bounds_of(accounts)
        return store.as_of(self.cut)

    def view_around(self, nodes: NDArray[np.int64], whole: NDArray[np.int64]) -> View:
        """The view, of which nothing but some accounts and their neighbours' slots may be read.

        Args:
            nodes: The accounts.
            whole: Those of them of whose events more may be read than the times.
        """
        store = self._store()
        store.require_bounds_around(nodes, whole)
        return store.as_of(self.cut)

    def whole_view(self) -> View:
        """The view, of which everything may be read."""
        return self._store().as_of(self.cut)

    def edges_of(self, view: View) -> EdgePass:
        """What encodes slots of a view."""
        reader = HistoryReader(view, self.model.preprocessing, self.model.config.sampling.max_events)
        return EdgePass(self.model.gtea.edge_encoder, reader, self.model.device)

    def blocks_of(self, view: View) -> AccountBlocks:
        """What encodes targets of a view."""
        edges = self.edges_of(view)
        return AccountBlocks(self.model.gtea, edges, edges.graph, self.grain)

    def layer(self, depth: int, d_in: int) -> LayerPass:
        """One of the network's layers."""
        return layer_pass(self.model.gtea, depth, d_in)

    def _store(self) -> Store:
        store = Store.open(self.content["store"])
        if store.digest != self.content["data"]:
            raise UsageError(
                f"{store.path}: is not the store that the job began with. Delete {self.folder} and score again."
            )
        return store


class Hub(NamedTuple):
    """An account whose slots are encoded in pieces, each a task of its own."""

    node: int
    first_slot: int
    num_slots: int

    @property
    def slots(self) -> range:
        """Its slots before the cut."""
        return range(self.first_slot, self.first_slot + self.num_slots)


@dataclass(frozen=True)
class PartPlan:
    """Where parts begin, and which hubs are cut into pieces."""

    bounds: NDArray[np.int64]
    """Part p has the accounts bounds[p] : bounds[p + 1]."""
    first_rank: NDArray[np.int64]
    """How many active accounts come before each part: a multiple of the accounts in a block."""
    hubs: tuple[Hub, ...]
    num_active: int

    @property
    def num_parts(self) -> int:
        """How many parts there are."""
        return len(self.bounds) - 1

    def accounts(self, part: int) -> range:
        """The accounts of a part."""
        return range(int(self.bounds[part]), int(self.bounds[part + 1]))

    def hubs_of(self, part: int) -> list[int]:
        """Which of the hubs are accounts of a part."""
        accounts = self.accounts(part)
        return [number for number, hub in enumerate(self.hubs) if hub.node in accounts]


def open_job(folder: Path) -> ScoreJob:
    """Open the job of a folder. A process opens it once; its description is read each time."""
    return _opened(folder, json.dumps(read_job(folder), sort_keys=True))


@lru_cache(maxsize=1)
def _opened(folder: Path, text: str) -> ScoreJob:
    content = json.loads(text)
    require_same_node(content["node"])
    saved = load_model(Path(content["model"]))
    if model_digest(saved) != content["model_digest"]:
        raise UsageError(
            f"{content['model']}: is not the model that the job began with. Delete {folder} and score again."
        )
    if content["prevalence"] is not None:
        saved = for_prevalence(saved, content["prevalence"])
    kind = LinkModel if content["kind"] == PAIRS else NodeModel
    model = kind(saved, resolve_device(content["device"]))
    return ScoreJob(folder, content, model, Grain(*content["grain"]))


def read_plan(folder: Path) -> PartPlan:
    """The plan, which has been made."""
    made = made_by(folder, PLAN)
    hubs = tuple(Hub(*(int(number) for number in row)) for row in made.read("hubs"))
    return PartPlan(made.read("bounds"), made.read("first_rank"), hubs, made.fact("num_active", Natural))


def requested_of(folder: Path, accounts: range) -> NDArray[np.int64] | None:
    """Which accounts of a range are to be scored, in ascending order; None for all."""
    if read_job(folder)["requested"] is None:
        return None
    file = made_by(folder, REQUESTED)
    first, last = (_place_of(end, file) for end in (accounts.start, accounts.stop))
    found: NDArray[np.int64] = file.read_rows("nodes", first, last - first)
    return found


def _place_of(node: int, file: PartFile) -> int:
    """How many of the requested accounts come before an account, by a binary search in the file."""
    low, high = 0, file.num_rows("nodes")
    while low < high:
        middle = (low + high) // 2
        if file.read_rows("nodes", middle, 1)[0] < node:
            low = middle + 1
        else:
            high = middle
    return low
