"""Training checkpoints: files that are replaced atomically and have a digest of themselves.

Batches and dropout are pure functions of (seed, epoch, batch). A checkpoint therefore needs only the weights, the
optimiser state and a few counters.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import struct
from collections.abc import Iterator
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
_NO_DIGEST = b"0" * 64


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
        _write(folder / CHECKPOINT, tensors, progress=json.dumps(asdict(self.progress)))

    def load(self, folder: Path) -> bool:
        """Restore the checkpoint. Return False if there is none yet."""
        path = folder / CHECKPOINT
        with _reading(path):
            content = _read(path)
            if content is None:
                return False
            tensors, progress = load(content), TrainingProgress(**json.loads(_metadata(content)["progress"]))
            self.network.load_state_dict(_part(tensors, "network."))
            self.best = _part(tensors, "best.")
            state: dict[int, dict[str, Tensor]] = {}
            for name, tensor in _part(tensors, "optimiser.").items():
                number, _, key = name.partition(".")
                state.setdefault(int(number), {})[key] = tensor
            self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": state})
            self.progress = progress
        return True


def save_module(module: nn.Module, path: Path) -> None:
    """Write the weights and buffers of a module."""
    _write(path, module.state_dict())


def load_module(module: nn.Module, path: Path) -> bool:
    """Load the file of ``save_module``. Return False if there is none yet."""
    with _reading(path):
        content = _read(path)
        if content is None:
            return False
        module.load_state_dict(load(content))
    return True


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _write(path: Path, tensors: dict[str, Tensor], **metadata: str) -> None:
    """Write a safetensors file that has its own sha256 in its header, taken with zeros in place of the digest."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    content = save(plain, {**metadata, "sha256": _NO_DIGEST.decode()})
    digest = hashlib.sha256(content).hexdigest().encode()
    with atomic_write(path) as stream:
        stream.write(content.replace(_NO_DIGEST, digest, 1))


def _read(path: Path) -> bytes | None:
    """Return the content of a file of ``_write``, or None if there is none. Raises ValueError if it was changed."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    digest = str(_metadata(content)["sha256"]).encode()
    if hashlib.sha256(content.replace(digest, _NO_DIGEST, 1)).hexdigest().encode() != digest:
        raise ValueError("its sha256 differs from the one in it")
    return content


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Say what to do about a file that can't be used. Damage can make any step of reading it fail."""
    try:
        yield
    except (SafetensorError, ArithmeticError, LookupError, RuntimeError, TypeError, ValueError, struct.error) as error:
        raise ModelError(
            f"{path}: was changed, truncated, or written by an earlier gtea ({error}). "
            "Delete it and resume again: what was in it is computed again."
        ) from error


def _metadata(content: bytes) -> dict[str, str]:
    """Return the metadata in the safetensors header: 8 bytes of length, then JSON."""
    (length,) = struct.unpack("<Q", content[:8])
    metadata: dict[str, str] = json.loads(content[8 : 8 + length])["__metadata__"]
    return metadata
