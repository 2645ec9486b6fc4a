"""Blocks of accounts: runs begin anew at each, nobody is left out, and a hub is the sum of its pieces."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import pytest
import torch

from gtea.models.registry import model_config
from gtea.nn.full_graph import PiecedRun
from gtea.sampling.collate import HistoryReader
from gtea.scoring.account_blocks import AccountBlocks, ActiveAccounts, block_starts, is_most, pieces_of, target_runs
from gtea.scoring.edge_pass import EdgePass
from gtea.scoring.options import Grain

CPU = torch.device("cpu")


def small_case(make_store: Any, case_of: Any, **changes: Any) -> Any:
    model = dataclasses.replace(model_config("gtea-l+t"), d_node=6, d_edge=8, d_time=5, d_mlp=7, **changes)
    return case_of(make_store(), model)


def blocks_of(case: Any, grain: Grain, **limits: int) -> tuple[AccountBlocks, ActiveAccounts]:
    reader = HistoryReader(case.view, case.preprocessing, 5)
    blocks = AccountBlocks(case.gtea, EdgePass(case.gtea.edge_encoder, reader, CPU, **limits), reader.graph, grain)
    return blocks, ActiveAccounts.of(case.view, np.arange(case.view.store.num_nodes))


def test_targets_are_the_accounts_with_events_and_all_their_slots(make_store: Any, case_of: Any) -> None:
    case = small_case(make_store, case_of)
    _, targets = blocks_of(case, Grain())
    assert not {"nobody", "late-a", "late-b"} & {case.view.store.account(int(node)) for node in targets.nodes}
    slot, seen_from = targets.slots_of(range(2, 5))
    for node, own in zip(targets.nodes[2:5], np.split(slot, targets.offset_of(range(2, 5))[1:-1]), strict=True):
        start, stop = case.view.slot_ranges(np.array([node]))
        assert own.tolist() == list(range(int(start[0]), int(stop[0])))
        assert (seen_from[np.isin(slot, own)] == node).all()


def test_what_is_made_of_a_block_does_not_depend_on_the_others(make_store: Any, case_of: Any) -> None:
    """To the byte, hubs included: this is what parts rest on."""
    grain, limits = Grain(accounts=4, slots=3), {"max_slots": 7, "max_events": 20}
    blocks, targets = blocks_of(small_case(make_store, case_of), grain, **limits)
    together = blocks.runs(targets, lambda done: None)
    assert any(isinstance(run, PiecedRun) for run in together)
    alone = []
    for first in range(0, len(targets.nodes), 4):
        some = slice(first, first + 4)
        part = ActiveAccounts(targets.nodes[some], targets.start[some], targets.count[some])
        alone += [(first, run) for run in blocks.runs(part, lambda done: None)]
    assert len(alone) == len(together)
    for (first, made), expected in zip(alone, together, strict=True):
        assert range(made.targets.start + first, made.targets.stop + first) == expected.targets
        for one, other in zip(flat(made), flat(expected), strict=True):
            assert torch.equal(one, other)


def flat(run: Any) -> list[torch.Tensor]:
    pieces = run.pieces if isinstance(run, PiecedRun) else (run,)
    return [each for piece in pieces for each in (piece.e_tilde, piece.slots.alpha, piece.slots.neighbour)]


def test_hubs_of_several_pieces_can_be_left_to_others(make_store: Any, case_of: Any) -> None:
    blocks, targets = blocks_of(small_case(make_store, case_of), Grain(4, 3), max_slots=7, max_events=20)
    everybody, others = (
        blocks.runs(targets, lambda done: None),
        blocks.runs(targets, lambda done: None, with_pieced=False),
    )
    assert {run.targets for run in everybody} - {run.targets for run in others} == {
        run.targets for run in everybody if isinstance(run, PiecedRun)
    }


@pytest.mark.parametrize("attention", ["sparsemax", "softmax"])
def test_the_pieces_of_a_hub_have_the_weights_of_the_whole(make_store: Any, case_of: Any, attention: str) -> None:
    case = small_case(make_store, case_of, attention=attention)
    runs = functools.partial(
        lambda grain: blocks_of(case, grain, max_slots=2)[0].runs(blocks_of(case, grain)[1], print)
    )
    for whole, cut in zip(runs(Grain(4, 1000)), runs(Grain(4, 3)), strict=True):
        alpha = (
            torch.cat([piece.slots.alpha for piece in cut.pieces]) if isinstance(cut, PiecedRun) else cut.slots.alpha
        )
        torch.testing.assert_close(alpha, whole.slots.alpha, atol=1e-6, rtol=0)  # type: ignore[union-attr]


def test_pieces_and_blocks_cover_everything_once() -> None:
    assert pieces_of(range(10, 25), Grain(slots=6)) == [range(10, 16), range(16, 22), range(22, 25)]
    assert block_starts(np.array([0, 1, 5, 6, 3, 9]), Grain(accounts=4)).tolist() == [0, 2, 4, 5, 6]
    assert block_starts(np.array([7]), Grain(accounts=4)).tolist() == [0, 1]
    assert is_most(6, 11)
    assert not is_most(5, 10)


def test_runs_of_targets_leave_nobody_out_and_stop_at_each_hop() -> None:
    looks = np.array([3, 0, 50, 1, 1, 1, 9, 0])
    runs = target_runs(looks, 4 * looks, (4, 8), 10, 20)
    assert [target for run in runs for target in run] == list(range(8))
    assert runs == [range(2), range(2, 3), range(3, 4), range(4, 6), range(6, 7), range(7, 8)]
