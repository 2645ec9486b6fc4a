"""Whether the inner loops are compiled: the package ``gtea_kernels``, folder ``kernels``, where it is installed.

The kernels read float32 on CPUs; other types and devices go to their twins in PyTorch, which say the same to 1e-5. The
environment variable GTEA_KERNELS is read once: ``off`` keeps to the twins, ``on`` refuses to start without the kernels;
unset, they are used if they are there.
"""

from __future__ import annotations

import importlib
import os
from functools import cache
from types import ModuleType

import torch
from torch import Tensor

from gtea.errors import UsageError

_INTERFACE = 2


@cache
def kernels() -> ModuleType | None:
    """The compiled package, or None where it is missing, broken, built for another gtea, or not wanted."""
    wish = os.environ.get("GTEA_KERNELS", "")
    if wish not in ("", "on", "off"):
        raise UsageError(f"GTEA_KERNELS must be 'on' or 'off' (got {wish!r}). Unset it to use what is there.")
    if wish == "off":
        return None
    try:
        found = importlib.import_module("gtea_kernels")
        interface = getattr(found, "INTERFACE", 1)
        if interface != _INTERFACE:
            raise ImportError(f"it has interface {interface}, and this gtea uses {_INTERFACE}")
        return found
    except ImportError as error:
        if wish == "on":
            raise UsageError(
                f"GTEA_KERNELS=on: the package gtea_kernels must be installed (got: {error}). "
                "Run \"pip install 'gtea[kernels]'\" ('pip install ./kernels' in a clone) or unset it."
            ) from error
        return None


def arithmetic() -> str:
    """Whose arithmetic the encoders' is on CPUs: the kernels' instruction set, or torch's. The last bits differ."""
    compiled = kernels()
    return "torch" if compiled is None else f"kernels, {compiled.instruction_set()}"


def kernels_for(*tensors: Tensor) -> ModuleType | None:
    """The compiled package if it is there and can read all of these."""
    fitting = all(tensor.device.type == "cpu" and tensor.dtype == torch.float32 for tensor in tensors)
    return kernels() if fitting else None
