"""The settings of the best trial as a file that ``gtea train --config`` reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gtea.config import RunConfig
from gtea.experiments.tune.trials import Trial
from gtea.runtime.files import atomic_write

BEST = "best.toml"


def write_best(path: Path, config: RunConfig, best: Trial, num_trials: int) -> None:
    """All settings, and above them how these came to be chosen."""
    head = [
        f"# Validation {config.train.metric} {best.metric:.4f} (trial {best.number} of {num_trials}, "
        f"epoch {best.best_epoch}).",
        "# Chosen by the validation part; the test part was not looked at. As the best of many, the figure flatters.",
        f"# Searched: {', '.join(f'{name} = {_toml(value)}' for name, value in best.settings.items())}",
    ]
    sections = [_section(name, values) for name, values in config.to_json().items()]
    with atomic_write(path) as stream:
        stream.write("\n".join([*head, *sections, ""]).encode())


def _section(name: str, values: Mapping[str, Any]) -> str:
    # TOML has no word for nothing; what is left out is nothing by default.
    lines = [f"{key} = {_toml(value)}" for key, value in values.items() if value is not None]
    return "\n".join(["", f"[{name}]", *lines])


def _toml(value: Any) -> str:
    if isinstance(value, float):
        return repr(float(value))  # NumPy's floats, too; JSON has no word for infinity; else they agree
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)
