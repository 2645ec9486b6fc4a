"""The network of a saved model: built by its settings, filled with its weights, once both are known to fit.

Settings that demand more weights than the file has are refused before the memory for them is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from gtea.config import InputSpec, config_from_json
from gtea.errors import ModelError, UsageError
from gtea.models.model_folder import SavedModel
from gtea.models.registry import build_classifier, entry_of
from gtea.models.tree_sums import TreeArrays

_FILE = "model.safetensors"
_OLD_BLEND = "blend.weights"
_SPARE = 1024
"""For a blend, which models of gtea 0.1 lack, and for ones and zeros beside weights."""


def saved_network(saved: SavedModel) -> nn.Module:
    """The network of a model, on the CPU. Raises a ModelError if its weights are not those that its settings need."""
    try:
        with _WeightLimit(sum(tensor.numel() for tensor in saved.weights.values())):
            network = _built(saved.config)
    except (UsageError, RuntimeError) as error:
        raise _unfit(saved, str(error)) from error
    weights = _with_blend(network, saved.weights)
    fault = next(_weight_faults(network.state_dict(), weights), None)
    if fault is not None:
        raise _unfit(saved, fault)
    try:
        network.load_state_dict(weights)
    except ModelError as error:  # trees
        raise ModelError(f"{saved.where(_FILE)}: {error}") from error
    return network


def _built(config: Mapping[str, Any]) -> nn.Module:
    run, spec = config_from_json(config["run"]), InputSpec(**config["input"])
    if config["task"] == "links":
        return entry_of(run.model).predictor(run.model, spec, 0)
    return build_classifier(run.model, spec, len(config["classes"]), 0)


class _WeightLimit(TorchFunctionMode):
    """Refuses to make more numbers than a file of weights has: a network makes each of its weights once."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        self._left = most + _SPARE

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self._left -= _demanded(func, args, kwargs or {})
        if self._left < 0:
            raise UsageError(f"its settings need more weights than the {self._most:,} that it has")
        return func(*args, **(kwargs or {}))


def _demanded(func: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    """How many numbers a call makes out of nothing."""
    if func is torch.logspace:
        return int(args[2])
    return math.prod(args) if func in (torch.rand, torch.zeros, torch.ones) else 0


def _with_blend(network: nn.Module, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a hybrid of gtea 0.1 have no blend: it was the mean, as in a new network."""
    new = network.state_dict()
    return {_OLD_BLEND: new[_OLD_BLEND], **weights} if _OLD_BLEND in new else weights


def _weight_faults(expected: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> Iterator[str]:
    """What is wrong with the names, types, sizes and values of the weights. Trees have any number of nodes."""
    if set(expected) != set(weights):
        yield f"the names of the weights must be those of its settings (not so: {min(set(expected) ^ set(weights))!r})"
        return
    for name, new in expected.items():
        tensor, in_trees = weights[name], name.rpartition(".")[2] in TreeArrays._fields
        if tensor.dtype != new.dtype or (tensor.dim() != 1 if in_trees else tensor.shape != new.shape):
            yield (
                f"{name} must be {_described(new)} (got {_described(tensor)})"
                if not in_trees
                else f"{name} must be a list of {new.dtype} (got {_described(tensor)})"
            )
        elif not in_trees and not torch.isfinite(tensor).all():
            yield f"{name} must be finite numbers"


def _described(tensor: Tensor) -> str:
    return f"{tensor.dtype} of shape {list(tensor.shape)}"


def _unfit(saved: SavedModel, fault: str) -> ModelError:
    return ModelError(
        f"{saved.where(_FILE)}: its weights do not fit its configuration ({fault}). "
        "Restore it from a backup, or train it again."
    )
