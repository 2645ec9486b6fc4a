"""What must be the same on all nodes, so that they give the same bytes; and what a node can reach.

The last bits of a product depend on the instruction set, on the library that computes it, and on its version.
"""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gtea.cluster.part_files import Arrays
from gtea.errors import GteaError, UsageError

_PACKAGES = ("gtea", "torch", "numpy", "numba", "pyarrow", "scikit-learn")
_READING_PACKAGES = ("gtea", "duckdb", "numpy", "pyarrow")


@cache
def node_facts() -> dict[str, str]:
    """Versions, instruction set and kernels of this node."""
    import torch

    from gtea.nn.kernels import arithmetic

    return {
        **{package: version(package) for package in _PACKAGES},
        "python": ".".join(platform.python_version_tuple()[:2]),
        "machine": platform.machine(),
        "processor": _vendor(),
        "instruction set": torch.backends.cpu.get_cpu_capability(),
        "kernels": arithmetic(),
    }


def reading_facts() -> dict[str, str]:
    """Versions of what reads events on this node: no result of it depends on the processor."""
    return {package: version(package) for package in _READING_PACKAGES}


def require_same_node(expected: Mapping[str, str], found: Mapping[str, str] | None = None) -> None:
    """Refuse to work where the last bits would be others.

    Args:
        found: The facts of this node; by default those of trainings and scores.
    """
    different = differences(expected, node_facts() if found is None else found)
    if different:
        raise UsageError(
            f"{socket.gethostname()}: must be like the node that began the job (different: {'; '.join(different)}). "
            "Use nodes with the same versions and processors, see gtea doctor --on."
        )


def differences(expected: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """What differs between two nodes, in words."""
    return [
        f"{name} {found.get(name, 'none')} instead of {expected.get(name, 'none')}"
        for name in {**expected, **found}
        if expected.get(name) != found.get(name)
    ]


def inspect_node(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """The task of ``gtea doctor --on``: the facts of a node, and whether it can read the store."""
    access, store = "not asked for", arguments.get("store")
    if store is not None:
        from gtea.store.store import Store

        try:
            access = Store.open(store).digest
        except GteaError as error:
            access = " ".join(error.lines)
    return {}, {
        "host": socket.gethostname(),
        "cores": os.cpu_count(),
        "facts": node_facts(),
        "store": access,
        "folder": os.access(folder, os.W_OK),
    }


def _vendor() -> str:
    """Who made the processor: libraries choose their code by it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("vendor_id")), platform.processor())
