"""What training has reached, in one file."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from gtea.errors import ModelError
from gtea.training import checkpoint
from gtea.training.checkpoint import CHECKPOINT, TREES, TrainingProgress, TrainingState, load_module, save_module


def state(seed: int) -> TrainingState:
    torch.manual_seed(seed)
    network = nn.Linear(3, 2)
    return TrainingState(network, torch.optim.Adam(network.parameters(), lr=0.1), {})


def step(of: TrainingState) -> None:
    of.optimiser.zero_grad()
    of.network(torch.ones(4, 3)).square().sum().backward()
    of.optimiser.step()


def test_it_goes_on_where_it_was(tmp_path: Path) -> None:
    first, second = state(0), state(1)
    step(first)
    first.best = {name: tensor.clone() for name, tensor in first.network.state_dict().items()}
    step(first)
    row = {"epoch": 0, "loss": 0.5}
    first.progress = TrainingProgress(epoch=1, best_epoch=0, best_metric=0.25, history=[row]).after_batch(0.5, 4)
    first.save(tmp_path)
    assert second.load(tmp_path)
    assert second.progress == first.progress
    assert (second.progress.batch, second.progress.loss_sum, second.progress.num_examples) == (1, 2.0, 4)
    assert all(torch.equal(second.best[name], tensor) for name, tensor in first.best.items())
    for each in (first, second):
        step(each)
    assert all(torch.equal(a, b) for a, b in zip(first.network.parameters(), second.network.parameters(), strict=True))


REFUSED = (
    r": was changed, truncated, or written by an earlier gtea \([\s\S]*\)\. "
    r"Delete it and resume again: what was in it is computed again\."
)


def test_nothing_there_and_something_damaged(tmp_path: Path) -> None:
    assert not state(0).load(tmp_path)
    first = state(0)
    step(first)
    first.progress = TrainingProgress(epoch=1, history=[{"epoch": 0, "loss": 0.5}])
    first.save(tmp_path)
    assert state(0).load(tmp_path)
    path = tmp_path / CHECKPOINT
    whole = path.read_bytes()
    for damaged in (b"", whole[:5], whole[:-5], whole + b"0", whole.replace(b"sha256", b"sha512")):
        path.write_bytes(damaged)
        with pytest.raises(ModelError, match=rf"checkpoint\.safetensors{REFUSED}"):
            state(0).load(tmp_path)


@pytest.mark.parametrize("bit", [0, 5])
def test_no_flipped_bit_goes_unnoticed(tmp_path: Path, bit: int) -> None:
    """In the header, the weights, the optimiser or the counters: resuming would lead to other weights."""
    first = state(0)
    step(first)
    first.save(tmp_path)
    path, trees = tmp_path / CHECKPOINT, tmp_path / TREES
    save_module(first.network, trees)
    loads: dict[Path, Callable[[], bool]] = {
        path: lambda: state(0).load(tmp_path),
        trees: lambda: load_module(nn.Linear(3, 2), trees),
    }
    for file, load in loads.items():
        whole = file.read_bytes()
        for place in range(0, len(whole), 3):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << bit)]) + whole[place + 1 :])
            with pytest.raises(ModelError, match=REFUSED):
                load()
        file.write_bytes(whole)
        assert load()


def test_a_link_a_folder_or_a_pipe_is_no_checkpoint(tmp_path: Path) -> None:
    """A pipe would be a wait for ever."""
    first = state(0)
    step(first)
    first.save(tmp_path)
    path = tmp_path / CHECKPOINT
    path.rename(tmp_path / "elsewhere")
    kinds: list[Callable[[], None]] = [
        lambda: path.symlink_to(tmp_path / "elsewhere"),
        path.mkdir,
        lambda: os.mkfifo(path),
    ]
    for make in kinds:
        make()
        with pytest.raises(ModelError, match=REFUSED):
            state(0).load(tmp_path)
        path.rmdir() if path.is_dir() else path.unlink()


FORGED: dict[str, dict[str, Any]] = {
    "an epoch that never ends": {"epoch": -(10**12)},
    "an epoch without a row": {"epoch": 2},
    "a best epoch to come": {"best_epoch": 1},
    "no best epoch, but its weights": {"best_epoch": -1},
    "text for a number": {"batch": "3"},
    "a row that is none": {"history": [7]},
}


@pytest.mark.parametrize("change", FORGED.values(), ids=FORGED)
def test_counters_that_can_not_be_are_refused_although_the_digest_fits(tmp_path: Path, change: dict[str, Any]) -> None:
    first = state(0)
    step(first)
    first.best = {name: tensor.clone() for name, tensor in first.network.state_dict().items()}
    first.progress = TrainingProgress(epoch=1, best_epoch=0, best_metric=1.0, history=[{"epoch": 0, "loss": 0.5}])
    first.save(tmp_path)
    assert state(0).load(tmp_path)
    first.progress = replace(first.progress, **change)
    first.save(tmp_path)
    with pytest.raises(ModelError, match=REFUSED):
        state(0).load(tmp_path)


@pytest.mark.parametrize(
    "forge",
    [
        lambda tensors: {"9.step": torch.tensor(1.0)},
        lambda tensors: {**tensors, "0.step": torch.ones(2)},
        lambda tensors: {**tensors, "0.exp_avg": torch.ones(5)},
        lambda tensors: {**tensors, "0.exp_avg": tensors["0.exp_avg"].double()},
        lambda tensors: {"0.exp_avg": tensors["0.exp_avg"]},
    ],
)
def test_an_optimiser_that_does_not_fit_the_network_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forge: Callable[[dict[str, torch.Tensor]], object]
) -> None:
    first = state(0)
    step(first)
    first.save(tmp_path)
    part = checkpoint._part
    assert state(0).load(tmp_path)
    monkeypatch.setattr(checkpoint, "_part", lambda of, at: forge(part(of, at)) if at == "optimiser." else part(of, at))
    with pytest.raises(ModelError, match=REFUSED):
        state(0).load(tmp_path)


def test_modules(tmp_path: Path) -> None:
    one, other = nn.Linear(3, 2), nn.Linear(3, 2)
    assert not load_module(other, tmp_path / "m")
    save_module(one, tmp_path / "m")
    assert load_module(other, tmp_path / "m")
    assert torch.equal(one.weight, other.weight)
    with pytest.raises(ModelError, match=REFUSED):
        load_module(nn.Linear(4, 2), tmp_path / "m")
