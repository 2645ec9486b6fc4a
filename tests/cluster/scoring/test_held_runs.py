"""Runs in a file are what they were, with neighbours named by rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from gtea.cluster.part_files import DamagedFileError, PartFile, write_part_file
from gtea.cluster.scoring.held_runs import StoredRuns, arrays_of, neighbours_of
from gtea.nn.batch import Slots
from gtea.nn.full_graph import AttendedRun


def made(start: int, targets: list[int], neighbours: list[int]) -> AttendedRun:
    count = len(targets)
    slots = Slots(torch.tensor(targets), torch.tensor(neighbours), torch.arange(count), torch.rand(count))
    return AttendedRun(range(start, start + 2), slots, torch.rand(count, 3))


def test_runs_come_back(tmp_path: Path) -> None:
    runs = [made(0, [0, 0, 1], [40, 7, 9]), made(2, [1], [40])]
    assert neighbours_of(runs).tolist() == [7, 9, 40]
    write_part_file(tmp_path / "a.part", arrays_of(runs, np.array([7, 8, 9, 40])), {})
    stored = StoredRuns(PartFile.open(tmp_path / "a.part"))
    again = [stored.read(number) for number in range(len(stored))]
    assert [run.targets for run in again] == [range(0, 2), range(2, 4)]
    assert [run.slots.neighbour.tolist() for run in again] == [[3, 0, 2], [3]]
    for one, other in zip(runs, again, strict=True):
        assert torch.equal(one.e_tilde, other.e_tilde)
        assert torch.equal(one.slots.alpha, other.slots.alpha)
        assert torch.equal(one.slots.target, other.slots.target)


def test_a_changed_embedding_is_noticed_when_its_run_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.part"
    write_part_file(path, arrays_of([made(0, [0, 0, 1], [40, 7, 9]), made(2, [1], [40])], np.array([7, 9, 40])), {})
    content = bytearray(path.read_bytes())
    content[PartFile.open(path).stored("e_tilde").offset + 3 * 3 * 4] ^= 1  # the first number of the second run
    path.write_bytes(content)
    stored = StoredRuns(PartFile.open(path))
    stored.read(0)
    with pytest.raises(DamagedFileError, match="e_tilde has been changed"):
        stored.read(1)


def test_no_runs_are_runs_too(tmp_path: Path) -> None:
    write_part_file(tmp_path / "a.part", arrays_of([], np.array([1])), {})
    assert len(StoredRuns(PartFile.open(tmp_path / "a.part"))) == 0
    assert len(neighbours_of([])) == 0
