"""Write the settings of the best trial as a file for ``gtea train --config``."""

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
    """Write all settings, with a header that says how they were chosen."""
    header = [
        f"# Validation {config.train.metric} {best.metric:.4f} (trial {best.number} of {num_trials}, "
        f"epoch {best.best_epoch}).",
        "# Selected on the validation part; the test part was not used. As the best of many trials, it is optimistic.",
        f"# Searched: {', '.join(f'{name} = {_toml(value)}' for name, value in best.settings.items())}",
    ]
    sections = [_section(name, values) for name, values in config.to_json().items()]
    with atomic_write(path) as stream:
        stream.write("\n".join([*header, *sections, ""]).encode())


def _section(name: str, values: Mapping[str, Any]) -> str:
    # TOML has no null. Settings that can be None default to None, so they are left out.
    lines = [f"{key} = {_toml(value)}" for key, value in values.items() if value is not None]
    return "\n".join(["", f"[{name}]", *lines])


def _toml(value: Any) -> str:
    if isinstance(value, float):
        return repr(float(value))  # JSON has no infinity; NumPy's floats print their type
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)
