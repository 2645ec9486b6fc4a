"""How much memory this process holds, or held at its peak, as the system counts resident pages."""

from __future__ import annotations

from pathlib import Path
from typing import Literal


def resident(field: Literal["VmRSS", "VmHWM"]) -> int:
    """Bytes: now (VmRSS), or at the peak (VmHWM). What resource.getrusage counts begins with what the parent had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))
