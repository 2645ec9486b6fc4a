"""Time several methods in alternation, so that load from other processes affects all of them alike."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping

import torch

from gtea.nn.kernels import arithmetic


def medians(methods: Mapping[str, Callable[[int], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each method over the rounds, after one untimed warm-up round.

    Args:
        methods: Called with the number of the round; 0 is the warm-up.
    """
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    for number in range(rounds + 1):
        for name, method in methods.items():
            start = time.perf_counter()
            method(number)
            if number:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def machine() -> dict[str, object]:
    """Describe the machine and its current load."""
    return {
        "arithmetic": arithmetic(),
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 2),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
