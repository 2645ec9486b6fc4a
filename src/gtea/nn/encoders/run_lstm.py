"""Who runs the LSTM: compiled kernels where they are installed, PyTorch everywhere else.

The kernels (the package ``gtea_kernels``, folder ``kernels``) read float32 on CPUs; other types and devices go to their
twin, ``ragged_lstm``, which says the same to 1e-5. The environment variable GTEA_KERNELS is read once: ``off`` keeps to
the twin, ``on`` refuses to start without the kernels; unset, they are used if they are there.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from functools import cache
from types import ModuleType

import torch
from torch import Tensor

from gtea.errors import UsageError
from gtea.nn.encoders.ragged_lstm import LSTMState, LSTMWeights, ragged_lstm


@cache
def kernels() -> ModuleType | None:
    """The compiled package, or None where it is missing, broken or not wanted."""
    wish = os.environ.get("GTEA_KERNELS", "")
    if wish not in ("", "on", "off"):
        raise UsageError(f"GTEA_KERNELS must be 'on' or 'off' (got {wish!r}). Unset it to use what is there.")
    if wish == "off":
        return None
    try:
        return importlib.import_module("gtea_kernels")
    except ImportError as error:
        if wish == "on":
            raise UsageError(
                f"GTEA_KERNELS=on: the package gtea_kernels must be installed (got: {error}). "
                "Run 'pip install --no-build-isolation ./kernels' or unset it."
            ) from error
        return None


def arithmetic() -> str:
    """Whose arithmetic the LSTM is on CPUs: the kernels' instruction set, or torch's. The last bits differ."""
    compiled = kernels()
    return "torch" if compiled is None else f"kernels, {compiled.instruction_set()}"


def run_lstm(
    x: Tensor,
    offset: Tensor,
    encoders: Sequence[Sequence[LSTMWeights]],
    states: Sequence[LSTMState] | None = None,
) -> list[LSTMState]:
    """What each of some encoders of one shape knows after each history's last event, from zeros unless told."""
    compiled = kernels() if x.device.type == "cpu" and x.dtype == encoders[0][0].b.dtype == torch.float32 else None
    if compiled is not None:
        first = None if states is None else [(state.h, state.c) for state in states]
        return [LSTMState(h, c) for h, c in compiled.lstm(x, offset, encoders, first)]
    if states is None:
        u = encoders[0][0].u
        zeros = u.new_zeros(len(encoders[0]), len(offset) - 1, u.shape[1])
        states = [LSTMState(zeros, zeros)] * len(encoders)
    return [ragged_lstm(x, offset, layers, state) for layers, state in zip(encoders, states, strict=True)]
