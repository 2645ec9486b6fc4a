"""Shared plotting helpers: colours, axis style, and saving.

Matplotlib is an optional dependency and is imported only when a figure is drawn.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gtea.runtime.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, GREY, RED, BLACK, AMBER = "#2f6690", "#98a1aa", "#c1432e", "#30363c", "#d9a036"
MATPLOTLIB_MISSING = "no figure: Matplotlib is not installed. To fix: pip install 'gtea[plots]'"


def can_draw() -> bool:
    """Whether Matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def save_figure(figure: Figure, path: Path) -> list[Path]:
    """Save a figure as PNG and SVG and return both paths. The output is byte-for-byte reproducible."""
    import matplotlib as mpl

    paths = [path.with_name(f"{path.name}{suffix}") for suffix in (".png", ".svg")]
    with mpl.rc_context({"svg.hashsalt": "gtea"}):
        for target in paths:
            with atomic_write(target) as stream:
                metadata = {"Date": None} if target.suffix == ".svg" else {}
                figure.savefig(stream, format=target.suffix[1:], dpi=150, metadata=metadata)
    return paths


def style_axes(axes: Axes, grid: Literal["x", "y", "both"] = "y") -> None:
    """Draw a light grid behind the data and hide the top and right spines."""
    axes.grid(axis=grid, color="#e4e7ea", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
