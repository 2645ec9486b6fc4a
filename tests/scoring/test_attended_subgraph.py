"""What attention reaches from some seeds: each node once, in the order of the search."""

from __future__ import annotations

import numpy as np
import torch

from gtea.nn.batch import Slots
from gtea.nn.full_graph import AttendedRun, Run, SummedRun, attended_run
from gtea.sampling.subgraph import FullSubgraph
from gtea.scoring.attended_subgraph import AttendedSubgraph


def run_of(targets: range, target: list[int], neighbour: list[int]) -> Run:
    count = len(target)
    slots = Slots(torch.tensor(target), torch.tensor(neighbour), torch.arange(count), torch.ones(count))
    return attended_run(targets, slots, torch.empty(count, 1))


def ring_of(size: int, nodes: list[int]) -> FullSubgraph:
    none = np.empty(0, dtype=np.int64)
    return FullSubgraph((size, len(nodes)), np.array(nodes, dtype=np.int64), none, none, none)


def neighbours(run: Run) -> list[int]:
    assert isinstance(run, AttendedRun)
    return run.slots.neighbour.tolist()


def test_only_what_is_read_is_followed_and_named_by_its_place_among_all() -> None:
    subgraph = AttendedSubgraph(100, np.array([50, 40]))
    # 50 reads 40 and 7, 40 reads 50; nobody reads 8.
    (run,) = subgraph.follow(ring_of(2, [50, 40, 8, 7]), [run_of(range(2), [0, 0, 1], [1, 3, 0])])
    assert subgraph.nodes.tolist() == [50, 40, 7]
    assert subgraph.ring.tolist() == [7]
    assert (run.targets, neighbours(run)) == (range(2), [1, 2, 0])
    # 7 reads 40, 9 and itself.
    (run,) = subgraph.follow(ring_of(1, [7, 9, 40]), [run_of(range(1), [0, 0, 0], [2, 1, 0])])
    assert subgraph.nodes.tolist() == [50, 40, 7, 9]
    assert (run.targets, neighbours(run)) == (range(2, 3), [1, 3, 2])
    assert subgraph.num_within == (2, 3, 4)


def test_the_neighbours_of_summed_runs_are_not_followed() -> None:
    subgraph = AttendedSubgraph(100, np.array([50]))
    subgraph.follow(ring_of(1, [50, 8, 7]), [run_of(range(1), [0], [1])])
    summed = SummedRun(range(1), torch.zeros(1, 2), torch.ones(1))
    (run,) = subgraph.follow(ring_of(1, [8, 50, 6]), [summed])
    assert (subgraph.nodes.tolist(), subgraph.num_within) == ([50, 8], (1, 2, 2))
    assert run.targets == range(1, 2)


def test_a_ring_without_nodes_ends_the_search() -> None:
    subgraph = AttendedSubgraph(100, np.array([50, 40]))
    subgraph.follow(ring_of(2, [50, 40]), [run_of(range(2), [0, 1], [1, 0])])
    assert len(subgraph.ring) == 0
    assert subgraph.follow(ring_of(0, []), []) == []
    assert subgraph.num_within == (2, 2, 2)
