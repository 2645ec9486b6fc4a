"""The results of the paper's Table 1, for comparison."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

TABLE1_MODELS = (
    *("gcn", "graphsage", "gat", "ecconv", "egnn", "tgat"),
    *("gtea-he", "gtea-l", "gtea-l+t", "gtea-tx", "gtea-tx+t"),
)
"""The rows of Table 1, in its order."""


@dataclass(frozen=True)
class PaperColumn:
    """The paper's results on one data set."""

    name: str
    note: str
    """How the paper's data set relates to ours."""
    same: bool
    """Whether it is the same data, or a part of it."""
    zeroed: float | None
    """The share of neighbours with zero sparse attention."""
    accuracy: Mapping[str, float]
    macro_f1: Mapping[str, float]

    @property
    def label(self) -> str:
        """The name, marked if the results can't be compared."""
        return self.name if self.same else f"{self.name} (other data)"

    def value(self, metric: str, model: str) -> float | None:
        """The paper's result for a model, or None."""
        columns = {"accuracy": self.accuracy, "macro_f1": self.macro_f1}
        return columns.get(metric, {}).get(model)


def paper_column(data: str) -> PaperColumn | None:
    """The column of Table 1 to compare a data set with, or None."""
    columns = tomllib.loads(files("gtea.experiments.paper").joinpath("paper.toml").read_text(encoding="utf-8"))
    if data not in columns:
        return None
    column = columns[data]
    accuracy, macro_f1 = ({model: pair[i] for model, pair in column["figures"].items()} for i in (0, 1))
    return PaperColumn(
        column["name"], column["note"], column.get("same", True), column.get("zeroed"), accuracy, macro_f1
    )
