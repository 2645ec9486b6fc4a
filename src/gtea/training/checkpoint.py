"""What training has reached, in one file that is replaced in one step.

Batches and dropout are pure functions of (seed, epoch, batch), so weights, moments and a few counters are all there is.
"""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from gtea.errors import ModelError
from gtea.runtime.files import atomic_write

CHECKPOINT = "checkpoint.safetensors"
TREES = "trees.safetensors"


@dataclass(frozen=True)
class TrainingProgress:
    """How far training has come."""

    epoch: int = 0
    batch: int = 0
    """Batches of this epoch that are done."""
    loss_sum: float = 0.0
    """Over the examples of this epoch's batches."""
    num_examples: int = 0
    best_epoch: int = -1
    best_metric: float = float("-inf")
    history: list[dict[str, Any]] = field(default_factory=list)
    """One row an epoch, as in metrics.jsonl."""
    finished: bool = False

    def after_batch(self, loss: float, examples: int) -> TrainingProgress:
        """One batch further."""
        return replace(
            self,
            batch=self.batch + 1,
            loss_sum=self.loss_sum + loss * examples,
            num_examples=self.num_examples + examples,
        )


@dataclass
class TrainingState:
    """The network being trained, its optimiser, the best weights so far, and the counters."""

    network: nn.Module
    optimiser: torch.optim.Optimizer
    best: dict[str, Tensor]
    progress: TrainingProgress = field(default_factory=TrainingProgress)

    def save(self, folder: Path) -> None:
        """Replace the checkpoint."""
        tensors = {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in self.best.items()}
        for number, moments in self.optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser.{number}.{name}": value for name, value in moments.items()}
        content = save(
            {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()},
            {"progress": json.dumps(asdict(self.progress))},
        )
        with atomic_write(folder / CHECKPOINT) as stream:
            stream.write(content)

    def load(self, folder: Path) -> bool:
        """Take up the checkpoint; False if there is none yet."""
        path = folder / CHECKPOINT
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return False
        try:
            tensors, progress = load(content), _metadata(content)["progress"]
        except (SafetensorError, KeyError, ValueError, struct.error) as error:
            raise ModelError(f"{path}: can't be read ({error}). Delete it to begin the run again.") from error
        self.network.load_state_dict(_part(tensors, "network."))
        self.best = _part(tensors, "best.")
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in _part(tensors, "optimiser.").items():
            number, _, moment = name.partition(".")
            state.setdefault(int(number), {})[moment] = tensor
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": state})
        self.progress = TrainingProgress(**json.loads(progress))
        return True


def _metadata(content: bytes) -> dict[str, str]:
    """The strings that safetensors keeps in its header: 8 bytes of length, then JSON."""
    (length,) = struct.unpack("<Q", content[:8])
    metadata: dict[str, str] = json.loads(content[8 : 8 + length])["__metadata__"]
    return metadata


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def save_module(module: nn.Module, path: Path) -> None:
    """Keep the weights and buffers of a module."""
    with atomic_write(path) as stream:
        stream.write(save({name: tensor.detach().cpu() for name, tensor in module.state_dict().items()}))


def load_module(module: nn.Module, path: Path) -> bool:
    """Load what ``save_module`` kept; False if there is nothing yet."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return False
    try:
        module.load_state_dict(load(content))
    except (SafetensorError, RuntimeError) as error:
        raise ModelError(f"{path}: can't be read ({error}). Delete it to begin the run again.") from error
    return True
