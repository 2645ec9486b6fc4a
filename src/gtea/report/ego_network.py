"""The ego network of a case: the account, its counterparties, and all that passed between any two of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gtea.report.case import Case
from gtea.report.ties import edges_among


@dataclass(frozen=True)
class EgoNode:
    """The account itself or a counterparty."""

    account: str
    known: str | None
    effect: float | None
    """None for the account itself."""
    weight: float | None


@dataclass(frozen=True)
class EgoEdge:
    """What passed from one account to another."""

    src: int
    """A place in the list of nodes."""
    dst: int
    num_events: int
    amount: float | None
    """None if the store has no amount column."""
    first: str
    last: str


@dataclass(frozen=True)
class EgoNetwork:
    """Nodes and directed edges. The account is the first node."""

    nodes: tuple[EgoNode, ...]
    edges: tuple[EgoEdge, ...]


def ego_network(case: Case) -> EgoNetwork:
    """Collect the network. Amounts and dates are those before the cut."""
    own = EgoNode(case.explanation.account, case.known, None, None)
    others = [EgoNode(pair.about.account, pair.known, pair.about.effect, pair.about.weight) for pair in case.pairs]
    nodes = [case.dealings.node, *(pair.node for pair in case.pairs)]
    return EgoNetwork((own, *others), tuple(_edges(case, nodes)))


def _edges(case: Case, nodes: Sequence[int]) -> list[EgoEdge]:
    view, place = case.dealings.view, {node: number for number, node in enumerate(nodes)}
    arrays, column = view.arrays, case.explanation.amount_column
    found = []
    for edge in edges_among(view, nodes):
        start, stop = (int(bound[0]) for bound in view.event_ranges(np.array([edge])))
        ends = place[int(arrays.edge_a[edge])], place[int(arrays.edge_b[edge])]
        for reverse in (0, 1):
            events = start + np.flatnonzero(arrays.event_reverse[start:stop] == reverse)
            if not len(events):
                continue
            amount = None
            if column is not None:
                amount = float(
                    arrays.event_features[events, view.store.features.index(column)].astype(np.float64).sum()
                )
            first, last = (view.store.date(int(arrays.event_time[events[i]])) for i in (0, -1))
            src, dst = ends if not reverse else ends[::-1]
            found.append(EgoEdge(src, dst, len(events), amount, first, last))
    return found
