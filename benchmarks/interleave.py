"""Ways to do one thing, run in turns: a busy moment of the machine then slows all of them alike, and ratios hold."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping

import torch

from gtea.nn.kernels import arithmetic


def medians(ways: Mapping[str, Callable[[int], object]], rounds: int) -> dict[str, float]:
    """The median seconds of each way over the rounds, after one round that doesn't count.

    Args:
        ways: Each is told the round's number, 0 for the one that doesn't count.
    """
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for count in range(rounds + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            way(count)
            if count:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def machine() -> dict[str, object]:
    """What computed, and how busy it was."""
    return {
        "arithmetic": arithmetic(),
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 2),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
