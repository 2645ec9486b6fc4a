"""The search space: which settings are searched, and over which values.

A space is a TOML file with the same sections as a run configuration. Each setting has a list of values or a range.
Settings joined by a comma share one value:

    [model]
    num_layers = [1, 2, 3]
    "d_node, d_edge" = [32, 64, 128]

    [train]
    lr = { low = 1e-4, high = 1e-2, log = true }
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gtea.config import RunConfig, read_toml, with_settings
from gtea.errors import UsageError

Settings = dict[str, Any]
"""Maps dotted setting names to values."""

_PAPER: dict[str, Any] = {
    "model": {"num_layers": [1, 2, 3], "d_node, d_edge": [32, 64, 128], "num_encoder_layers": [1, 2, 3]},
    "sampling": {"batch_size": [32, 64, 128], "fanout": [5, 10, 25]},
    "train": {"lr": [1e-4, 1e-3, 1e-2]},
}
# These define the validation metric. Trials that differ in them can't be compared.
_NOT_SEARCHABLE = ("train.metric", "train.seed")


@dataclass(frozen=True)
class Choice:
    """A list of possible values."""

    values: tuple[Any, ...]

    def at(self, fraction: float) -> Any:
        """The value at a fraction of the list, for a fraction in [0, 1)."""
        return self.values[int(fraction * len(self.values))]

    @property
    def ordered(self) -> bool:
        """Whether the values are numbers in ascending order."""
        numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in self.values)
        return numbers and list(self.values) == sorted(self.values)

    def to_json(self) -> Any:
        """The same form as in a space file."""
        return list(self.values)


@dataclass(frozen=True)
class Range:
    """A numeric range that includes both bounds."""

    low: float
    high: float
    log: bool
    integer: bool

    def at(self, fraction: float) -> float | int:
        """The number at a fraction of the range, for a fraction in [0, 1)."""
        low, high = (self.low, self.high + 1) if self.integer else (self.low, self.high)
        value = low * (high / low) ** fraction if self.log else low + fraction * (high - low)
        return int(min(math.floor(value), self.high)) if self.integer else min(max(value, self.low), self.high)

    def to_json(self) -> Any:
        """The same form as in a space file."""
        return {"low": self.low, "high": self.high, "log": self.log}


@dataclass(frozen=True)
class Axis:
    """One search dimension: usually one setting, or several that share a value."""

    names: tuple[str, ...]
    values: Choice | Range

    @property
    def label(self) -> str:
        """The names, joined by commas."""
        return ", ".join(self.names)


@dataclass(frozen=True)
class Space:
    """All axes, sorted by name so that the order in the file doesn't matter."""

    axes: tuple[Axis, ...]

    @property
    def size(self) -> int | None:
        """The number of combinations; None if any axis is a range."""
        counts = [len(axis.values.values) for axis in self.axes if isinstance(axis.values, Choice)]
        return math.prod(counts) if len(counts) == len(self.axes) else None

    def settings(self, values: Sequence[Any]) -> Settings:
        """Turn one value per axis into settings."""
        return {name: value for axis, value in zip(self.axes, values, strict=True) for name in axis.names}

    def values(self, settings: Mapping[str, Any]) -> list[Any]:
        """Turn settings into one value per axis."""
        return [settings[axis.names[0]] for axis in self.axes]

    def to_json(self) -> dict[str, Any]:
        """The same form as in tune.json."""
        return {axis.label: axis.values.to_json() for axis in self.axes}


def paper_space(base: RunConfig, fixed: Sequence[str] = ()) -> Space:
    """The paper's grid, without settings that the user fixed or that the encoder doesn't have.

    Args:
        fixed: Dotted names of settings given with --set.
    """
    space = _space(_PAPER, base, "the paper's grid")
    excluded = {*fixed, *(["model.num_encoder_layers"] if base.model.encoder == "statistics" else [])}
    axes = tuple(axis for axis in space.axes if not excluded & set(axis.names))
    if not axes:
        raise UsageError("--set: leaves nothing of the paper's grid to search. Remove a setting, or pass --space.")
    return Space(axes)


def read_space(path: Path, base: RunConfig, fixed: Sequence[str] = ()) -> Space:
    """Read a space from a TOML file and check that every value is valid."""
    space = _space(read_toml(path, "--space"), base, path.name)
    for name in (name for axis in space.axes for name in axis.names if name in fixed):
        raise UsageError(f"{name}: is both set by --set and searched in {path.name}. Remove one of them.")
    return space


def _space(sections: Mapping[str, Any], base: RunConfig, where: str) -> Space:
    axes = []
    for section, keys in sections.items():
        if not isinstance(keys, Mapping):
            raise UsageError(f"{where}: {section} must be in a section (got {keys!r}). Try [train] above it.")
        for key, spec in keys.items():
            names = tuple(f"{section}.{name.strip()}" for name in key.split(","))
            axes.append(_axis(names, spec, base, where))
    if not axes:
        raise UsageError(f"{where}: must name a setting and its values (got none). Try [train] and lr = [0.001, 0.01].")
    counts = Counter(name for axis in axes for name in axis.names)
    for name in (name for name, count in counts.items() if count > 1):
        raise UsageError(f"{where}: {name} must appear once (got {counts[name]} times). Remove the others.")
    return Space(tuple(sorted(axes, key=lambda axis: axis.label)))


def _axis(names: tuple[str, ...], spec: Any, base: RunConfig, where: str) -> Axis:
    for name in names:
        if name in _NOT_SEARCHABLE or name.startswith("split."):
            raise UsageError(
                f"{where}: {name} can't be searched, because it defines the validation metric. Set it with --set."
            )
    values = _range(names, spec, base, where) if isinstance(spec, Mapping) else _choice(names, spec, where)
    extremes = values.values if isinstance(values, Choice) else (values.at(0.0), values.at(1.0))
    for value in extremes:
        _require_valid(dict.fromkeys(names, value), base, where)
    return Axis(names, values)


def _choice(names: tuple[str, ...], spec: Any, where: str) -> Choice:
    if not isinstance(spec, list) or not spec:
        raise UsageError(
            f"{where}: {', '.join(names)} must have a list of values or a range (got {spec!r}). "
            "Try [0.001, 0.01] or { low = 0.001, high = 0.01, log = true }."
        )
    for number, value in enumerate(spec):
        if value in spec[:number]:
            raise UsageError(f"{where}: {', '.join(names)} must list each value once (got {value!r} twice). Drop one.")
    return Choice(tuple(spec))


def _range(names: tuple[str, ...], spec: Mapping[str, Any], base: RunConfig, where: str) -> Range:
    subject = f"{where}: {', '.join(names)}"
    low: Any
    high: Any
    low, high, log = spec.get("low"), spec.get("high"), spec.get("log", False)
    unknown = set(spec) - {"low", "high", "log"}
    if unknown or not _is_number(low) or not _is_number(high) or not isinstance(log, bool):
        raise UsageError(
            f"{subject} must have low, high and optionally log (got {dict(spec)!r}). "
            "Try { low = 0.001, high = 0.01, log = true }."
        )
    if not low < high or (log and low <= 0):
        rule = "must have 0 < low < high" if log else "must have low < high"
        raise UsageError(f"{subject} {rule} (got low = {low}, high = {high}). Swap them, or give a list of values.")
    kinds = {type(_current(name, base, where)) for name in names}
    if not kinds <= {int, float} or len(kinds) > 1:
        raise UsageError(f"{subject} can't have a range, because it is not a number. Give a list of values.")
    integer = kinds == {int}
    if integer and not (isinstance(low, int) and isinstance(high, int)):
        raise UsageError(f"{subject} must have integer bounds (got {low} and {high}). Try {int(low)}.")
    return Range(low, high, log, integer)


def _current(name: str, base: RunConfig, where: str) -> Any:
    section, _, key = name.partition(".")
    values = base.to_json().get(section, {})
    if key not in values:
        with_settings(base, {name: None}, where)  # raises, and suggests a similar name
    return values[key]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _require_valid(settings: Settings, base: RunConfig, where: str) -> None:
    try:
        with_settings(base, settings, where)
    except UsageError as error:
        subject = "" if where in str(error) else f"{where}: "
        raise UsageError(f"{subject}{error}") from error
