"""Writes the page of an account and what belongs to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from gtea.errors import StoreError
from gtea.explain.explainer import Explainer
from gtea.report.case import case_of
from gtea.report.case_page import Place, render_case
from gtea.report.common_facts import CommonFacts
from gtea.report.exports import FILES, ExportOptions, write_exports
from gtea.report.index_row import IndexRow, index_row
from gtea.report.known_labels import KnownLabels
from gtea.runtime.files import atomic_write
from gtea.scoring.scorer import NodeModel
from gtea.store.store import Store


@dataclass(frozen=True)
class CaseRequest:
    """Which pages to write, ready for JSON."""

    model: str
    store: str
    store_digest: str
    """Pages of one report are of one version of a store."""
    cut: int
    out: str
    nodes: tuple[int, ...]
    """The accounts that have a page, in order."""
    window: tuple[int, int]
    """The page time that the rows of the index show."""
    common: CommonFacts
    exports: ExportOptions | None
    """None if no files are wanted beside the pages."""
    amount: str | None
    """The event feature that is summed up as received and sent; None for one whose name says so."""

    def to_json(self) -> dict[str, Any]:
        """For a worker."""
        return asdict(self)

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> CaseRequest:
        """From the parent of a worker."""
        exports = content["exports"]
        return CaseRequest(
            **{
                **content,
                "nodes": tuple(content["nodes"]),
                "window": tuple(content["window"]),
                "common": CommonFacts.from_json(content["common"]),
                "exports": None if exports is None else ExportOptions(**exports),
            }
        )


class CaseWriter:
    """Explains accounts of one view and writes their pages."""

    def __init__(self, request: CaseRequest, model: NodeModel, store: Store) -> None:
        self._request = request
        self._store = store
        self._numbers = {node: number for number, node in enumerate(request.nodes, start=1)}
        self._explainer = Explainer(model, store, request.cut, amount=request.amount)
        self._labels = KnownLabels(store, model.preprocessing.neighbour_labels)

    def write(self, node: int, rank: int, number: int) -> IndexRow:
        """Write the page of an account and the files beside it.

        Args:
            rank: Its place among all accounts.
            number: Its place in the report.
        """
        explanation = self._explainer.explain(self._store.account(node))
        case = case_of(self._request.common, self._labels, explanation, self._store, rank, number)
        request = self._request
        place = Place(number, len(request.nodes), len(str(len(request.nodes))), self._numbers)
        out, links = Path(request.out), []
        if request.exports is not None:
            folder = f"files/{place.file(number).removesuffix('.html')}"
            write_exports(case, out / folder, request.exports)
            links = [f"{folder}/{name}" for name in FILES]
        write_text(out / place.file(number), render_case(case, place, links))
        return index_row(case, request.window)


def open_writer(request: CaseRequest) -> CaseWriter:
    """Open model and store for a worker, which computes with one thread."""
    torch.set_num_threads(1)
    store = Store.open(request.store)
    if store.digest != request.store_digest:
        raise StoreError(f"{request.store}: was changed while the report was written. Run the report again.")
    return CaseWriter(request, NodeModel.open(Path(request.model), torch.device("cpu")), store)


def write_text(path: Path, text: str) -> None:
    """Write a page atomically. A lone half of a surrogate pair, which no file can hold, is replaced."""
    with atomic_write(path) as stream:
        stream.write(text.encode("utf-8", "replace"))
