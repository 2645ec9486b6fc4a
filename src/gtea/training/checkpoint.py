"""Training checkpoints: one file that is replaced atomically.

Batches and dropout are pure functions of (seed, epoch, batch). A checkpoint therefore needs only the weights, the
optimiser state and a few counters.
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
    """The counters of a training run."""

    epoch: int = 0
    batch: int = 0
    """The number of completed batches in this epoch."""
    loss_sum: float = 0.0
    """The sum of the losses of this epoch's examples."""
    num_examples: int = 0
    best_epoch: int = -1
    best_metric: float = float("-inf")
    history: list[dict[str, Any]] = field(default_factory=list)
    """One row per epoch, as in metrics.jsonl."""
    finished: bool = False

    def after_batch(self, loss: float, examples: int) -> TrainingProgress:
        """Return the counters after one more batch."""
        return replace(
            self,
            batch=self.batch + 1,
            loss_sum=self.loss_sum + loss * examples,
            num_examples=self.num_examples + examples,
        )


@dataclass
class TrainingState:
    """The network, its optimiser, the best weights so far, and the counters."""

    network: nn.Module
    optimiser: torch.optim.Optimizer
    best: dict[str, Tensor]
    progress: TrainingProgress = field(default_factory=TrainingProgress)

    def save(self, folder: Path) -> None:
        """Write the checkpoint, replacing the previous one."""
        tensors = {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in self.best.items()}
        for number, values in self.optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser.{number}.{name}": value for name, value in values.items()}
        content = save(
            {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()},
            {"progress": json.dumps(asdict(self.progress))},
        )
        with atomic_write(folder / CHECKPOINT) as stream:
            stream.write(content)

    def load(self, folder: Path) -> bool:
        """Restore the checkpoint. Return False if there is none yet."""
        path = folder / CHECKPOINT
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return False
        try:
            tensors, progress = load(content), _metadata(content)["progress"]
        except (SafetensorError, KeyError, ValueError, struct.error) as error:
            raise ModelError(f"{path}: can't be read ({error}). Delete it to restart the run.") from error
        self.network.load_state_dict(_part(tensors, "network."))
        self.best = _part(tensors, "best.")
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in _part(tensors, "optimiser.").items():
            number, _, key = name.partition(".")
            state.setdefault(int(number), {})[key] = tensor
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": state})
        self.progress = TrainingProgress(**json.loads(progress))
        return True


def _metadata(content: bytes) -> dict[str, str]:
    """Return the metadata in the safetensors header: 8 bytes of length, then JSON."""
    (length,) = struct.unpack("<Q", content[:8])
    metadata: dict[str, str] = json.loads(content[8 : 8 + length])["__metadata__"]
    return metadata


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def save_module(module: nn.Module, path: Path) -> None:
    """Write the weights and buffers of a module."""
    with atomic_write(path) as stream:
        stream.write(save({name: tensor.detach().cpu() for name, tensor in module.state_dict().items()}))


def load_module(module: nn.Module, path: Path) -> bool:
    """Load the file of ``save_module``. Return False if there is none yet."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return False
    try:
        module.load_state_dict(load(content))
    except (SafetensorError, RuntimeError) as error:
        raise ModelError(f"{path}: can't be read ({error}). Delete it to restart the run.") from error
    return True
