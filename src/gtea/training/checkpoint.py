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
from gtea.runtime.json_shape import Natural, Number, ObjectOf, misshapen
from gtea.runtime.plain_files import NotPlainError, read_plain

CHECKPOINT = "checkpoint.safetensors"
TREES = "trees.safetensors"
_MAX_BYTES = 1 << 32
_NO_DIGEST = b"0" * 64
_COUNTERS = {
    "epoch": Natural,
    "batch": Natural,
    "loss_sum": Number,
    "num_examples": Natural,
    "best_epoch": int,
    "best_metric": Number,
    "history": [ObjectOf({"epoch": Natural, "loss": Number}, others=object)],
    "finished": bool,
}


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
        with atomic_write(folder / CHECKPOINT) as stream:
            stream.write(self.to_bytes())

    def to_bytes(self) -> bytes:
        """The content of a checkpoint."""
        tensors = {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in self.best.items()}
        for number, values in self.optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser.{number}.{name}": value for name, value in values.items()}
        return _content(tensors, progress=json.dumps(asdict(self.progress)))

    def load(self, folder: Path) -> bool:
        """Restore the checkpoint. Return False if there is none yet."""
        path = folder / CHECKPOINT
        with _reading(path):
            content = _read(path)
            if content is None:
                return False
            self.restore(content)
        return True

    def restore(self, content: bytes) -> None:
        """Take over the content of a checkpoint."""
        tensors, progress = load(content), _progress(_metadata(content)["progress"])
        best, network = _part(tensors, "best."), _part(tensors, "network.")
        if bool(best) != (progress.best_epoch >= 0):
            raise ValueError("there must be best weights if there is a best epoch")
        if best:
            self.network.load_state_dict(best)  # it is the one that can tell whether they fit
        self.network.load_state_dict(network)
        state = _optimiser_state(_part(tensors, "optimiser."), self.optimiser)
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": state})
        self.best, self.progress = best, progress


def save_module(module: nn.Module, path: Path) -> None:
    """Write the weights and buffers of a module."""
    with atomic_write(path) as stream:
        stream.write(_content(module.state_dict()))


def load_module(module: nn.Module, path: Path) -> bool:
    """Load the file of ``save_module``. Return False if there is none yet."""
    with _reading(path):
        content = _read(path)
        if content is None:
            return False
        module.load_state_dict(load(content))
    return True


def _progress(text: str) -> TrainingProgress:
    """The counters. Nonsense would train for ever: an epoch far below 0 never reaches the last one."""
    content = json.loads(text)
    fault = misshapen(content, _COUNTERS, "progress")
    if fault is None and not len(content["history"]) == content["epoch"] > content["best_epoch"] >= -1:
        fault = "progress must have a row for each epoch, and a best epoch among them"
    if fault is not None:
        raise ValueError(fault)
    return TrainingProgress(**content)


def _optimiser_state(tensors: dict[str, Tensor], optimiser: torch.optim.Optimizer) -> dict[int, dict[str, Tensor]]:
    """The state of each parameter, by its number: Adam has two tensors of the parameter's shape, and counts steps."""
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        number, _, key = name.partition(".")
        if number not in {str(place) for place in range(len(parameters))}:
            raise ValueError(f"optimiser.{name} must belong to a parameter")
        if tensor.dtype != torch.float32 or tensor.shape != (() if key == "step" else parameters[int(number)].shape):
            raise ValueError(f"optimiser.{name} must be float32 of the shape of its parameter")
        state.setdefault(int(number), {})[key] = tensor
    if any(set(values) != {"step", "exp_avg", "exp_avg_sq"} for values in state.values()):
        raise ValueError("the optimiser must have step, exp_avg and exp_avg_sq of a parameter")
    return state


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _content(tensors: dict[str, Tensor], **metadata: str) -> bytes:
    """A safetensors file that has its own sha256 in its header, taken with zeros in place of the digest."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    content = save(plain, {**metadata, "sha256": _NO_DIGEST.decode()})
    digest = hashlib.sha256(content).hexdigest().encode()
    return content.replace(_NO_DIGEST, digest, 1)


def _read(path: Path) -> bytes | None:
    """Return the content of a checkpoint's file, or None if there is none. Raises ValueError if it was changed."""
    try:
        content = read_plain(path.parent, path.name, _MAX_BYTES, through_link=True)
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
    except (
        NotPlainError,
        SafetensorError,
        ArithmeticError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
        struct.error,
    ) as error:
        raise ModelError(
            f"{path}: was changed, truncated, or written by an earlier gtea ({error}). "
            "Delete it and resume again: what was in it is computed again."
        ) from error


def _metadata(content: bytes) -> dict[str, str]:
    """Return the metadata in the safetensors header: 8 bytes of length, then JSON."""
    (length,) = struct.unpack("<Q", content[:8])
    metadata: dict[str, str] = json.loads(content[8 : 8 + length])["__metadata__"]
    return metadata
