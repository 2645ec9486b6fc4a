"""What all pictures share: whether they can be drawn, their colours, their frame, and how they are written.

Matplotlib is an optional part: nothing here imports it before somebody draws.
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
MISSING = "no picture: Matplotlib is missing. To mend: pip install 'gtea[plots]'"


def can_draw() -> bool:
    """Whether Matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def save(figure: Figure, path: Path) -> list[Path]:
    """Write a picture as PNG and SVG beside each other, and say where. The same picture gives the same bytes."""
    import matplotlib as mpl

    paths = [path.with_name(f"{path.name}{suffix}") for suffix in (".png", ".svg")]
    with mpl.rc_context({"svg.hashsalt": "gtea"}):
        for made in paths:
            with atomic_write(made) as stream:
                metadata = {"Date": None} if made.suffix == ".svg" else {}
                figure.savefig(stream, format=made.suffix[1:], dpi=150, metadata=metadata)
    return paths


def tidy(axes: Axes, grid: Literal["x", "y", "both"] = "y") -> None:
    """A light grid behind the data, and no frame above and at the right."""
    axes.grid(axis=grid, color="#e4e7ea", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
