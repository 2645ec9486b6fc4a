"""Resident memory of this process, now and at its peak."""

from __future__ import annotations

from pathlib import Path
from typing import Literal


def resident(field: Literal["VmRSS", "VmHWM"]) -> int:
    """Resident bytes now (VmRSS) or at the peak (VmHWM). ``resource.getrusage`` would include the parent's memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))
