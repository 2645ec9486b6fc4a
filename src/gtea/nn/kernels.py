"""Compiled kernels for the inner loops: the optional package ``gtea_kernels`` in the folder ``kernels``.

The kernels read float32 on CPUs. Other types and devices use the PyTorch versions, which agree to 1e-5. The environment
variable GTEA_KERNELS is read once: ``off`` uses PyTorch, ``on`` requires the kernels, and by default they are used if
they are installed.
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
    """The compiled package; None if it is missing, broken, built for another version of gtea, or switched off."""
    mode = os.environ.get("GTEA_KERNELS", "")
    if mode not in ("", "on", "off"):
        raise UsageError(
            f"GTEA_KERNELS must be 'on' or 'off' (got {mode!r}). Unset it to use the kernels if they are installed."
        )
    if mode == "off":
        return None
    try:
        found = importlib.import_module("gtea_kernels")
        interface = getattr(found, "INTERFACE", 1)
        if interface != _INTERFACE:
            raise ImportError(f"it has interface {interface}, and this gtea uses {_INTERFACE}")
        return found
    except ImportError as error:
        if mode == "on":
            raise UsageError(
                f"GTEA_KERNELS=on: the package gtea_kernels must be installed (got: {error}). "
                "Run \"pip install 'gtea[kernels]'\" ('pip install ./kernels' in a clone) or unset it."
            ) from error
        return None


def arithmetic() -> str:
    """What computes the encoders on CPUs: the kernels and their instruction set, or torch. The last bits differ."""
    compiled = kernels()
    return "torch" if compiled is None else f"kernels, {compiled.instruction_set()}"


def kernels_for(*tensors: Tensor) -> ModuleType | None:
    """The compiled package if it is installed and supports all of these tensors."""
    supported = all(tensor.device.type == "cpu" and tensor.dtype == torch.float32 for tensor in tensors)
    return kernels() if supported else None
