"""Which settings a search may choose, and from which values.

A space is a TOML file with the sections of a run's configuration. A setting has a list of values, or the ends of a
range; names with a comma between them take the same value together:

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
"""Values by the dotted names of their settings."""

_PAPER: dict[str, Any] = {
    "model": {"num_layers": [1, 2, 3], "d_node, d_edge": [32, 64, 128], "num_encoder_layers": [1, 2, 3]},
    "sampling": {"batch_size": [32, 64, 128], "fanout": [5, 10, 25]},
    "train": {"lr": [1e-4, 1e-3, 1e-2]},
}
# They decide by what trials are metrics_of: figures of trials that differ in them can't be compared.
_FIXED = ("train.metric", "train.seed")


@dataclass(frozen=True)
class Choice:
    """One of some values."""

    values: tuple[Any, ...]

    def at(self, share: float) -> Any:
        """The value that far into the list, for a share in [0, 1)."""
        return self.values[int(share * len(self.values))]

    @property
    def ordered(self) -> bool:
        """Whether the values are numbers that rise: neighbours in the list are then alike."""
        numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in self.values)
        return numbers and list(self.values) == sorted(self.values)

    def to_json(self) -> Any:
        """As it stands in a space file."""
        return list(self.values)


@dataclass(frozen=True)
class Range:
    """A number between two ends, both of which may be chosen."""

    low: float
    high: float
    log: bool
    whole: bool

    def at(self, share: float) -> float | int:
        """The number that far into the range, for a share in [0, 1)."""
        low, high = (self.low, self.high + 1) if self.whole else (self.low, self.high)
        place = low * (high / low) ** share if self.log else low + share * (high - low)
        return int(min(math.floor(place), self.high)) if self.whole else min(max(place, self.low), self.high)

    def to_json(self) -> Any:
        """As it stands in a space file."""
        return {"low": self.low, "high": self.high, "log": self.log}


@dataclass(frozen=True)
class Axis:
    """Settings that take one value together; nearly always a single one."""

    names: tuple[str, ...]
    values: Choice | Range

    @property
    def label(self) -> str:
        """The names in one."""
        return ", ".join(self.names)


@dataclass(frozen=True)
class Space:
    """All axes, in the order of their names: that of the file must not matter."""

    axes: tuple[Axis, ...]

    @property
    def size(self) -> int | None:
        """How many combinations there are; None if a range is among the axes."""
        counts = [len(axis.values.values) for axis in self.axes if isinstance(axis.values, Choice)]
        return math.prod(counts) if len(counts) == len(self.axes) else None

    def settings(self, values: Sequence[Any]) -> Settings:
        """One value for each axis, as settings."""
        return {name: value for axis, value in zip(self.axes, values, strict=True) for name in axis.names}

    def values(self, settings: Mapping[str, Any]) -> list[Any]:
        """The other way round."""
        return [settings[axis.names[0]] for axis in self.axes]

    def to_json(self) -> dict[str, Any]:
        """As it stands in the record of a search."""
        return {axis.label: axis.values.to_json() for axis in self.axes}


def paper_space(base: RunConfig, settled: Sequence[str] = ()) -> Space:
    """The paper's grid, without what the user has settled already and what the encoder doesn't have.

    Args:
        settled: Dotted names of settings that are given.
    """
    space = _space(_PAPER, base, "the paper's grid")
    without = {*settled, *(["model.num_encoder_layers"] if base.model.encoder == "statistics" else [])}
    axes = tuple(axis for axis in space.axes if not without & set(axis.names))
    if not axes:
        raise UsageError("--set: leaves nothing of the paper's grid to search. Leave one out, or give --space.")
    return Space(axes)


def read_space(path: Path, base: RunConfig, settled: Sequence[str] = ()) -> Space:
    """The space of a TOML file, every value of it checked against the settings that it is to stand in."""
    space = _space(read_toml(path, "--space"), base, path.name)
    for name in (name for axis in space.axes for name in axis.names if name in settled):
        raise UsageError(f"{name}: is given by --set and searched in {path.name}. Leave one of them out.")
    return space


def _space(sections: Mapping[str, Any], base: RunConfig, where: str) -> Space:
    axes = []
    for section, keys in sections.items():
        if not isinstance(keys, Mapping):
            raise UsageError(f"{where}: {section} must be in a section (got {keys!r}). Try [train] above it.")
        for key, given in keys.items():
            names = tuple(f"{section}.{name.strip()}" for name in key.split(","))
            axes.append(_axis(names, given, base, where))
    if not axes:
        raise UsageError(f"{where}: must name a setting and its values (got none). Try [train] and lr = [0.001, 0.01].")
    counts = Counter(name for axis in axes for name in axis.names)
    for name in (name for name, count in counts.items() if count > 1):
        raise UsageError(f"{where}: {name} must be named once (got {counts[name]} times). Leave the others out.")
    return Space(tuple(sorted(axes, key=lambda axis: axis.label)))


def _axis(names: tuple[str, ...], given: Any, base: RunConfig, where: str) -> Axis:
    for name in names:
        if name in _FIXED or name.startswith("split."):
            raise UsageError(
                f"{where}: {name} can't be searched: it decides by what trials are metrics_of. Give it by --set."
            )
    values = _range(names, given, base, where) if isinstance(given, Mapping) else _choice(names, given, where)
    ends = values.values if isinstance(values, Choice) else (values.at(0.0), values.at(1.0))
    for value in ends:
        _require_possible(dict.fromkeys(names, value), base, where)
    return Axis(names, values)


def _choice(names: tuple[str, ...], given: Any, where: str) -> Choice:
    if not isinstance(given, list) or not given:
        raise UsageError(
            f"{where}: {', '.join(names)} must have a list of values or a range (got {given!r}). "
            "Try [0.001, 0.01] or { low = 0.001, high = 0.01, log = true }."
        )
    for number, value in enumerate(given):
        if value in given[:number]:
            raise UsageError(f"{where}: {', '.join(names)} must have each value once (got {value!r} twice). Drop one.")
    return Choice(tuple(given))


def _range(names: tuple[str, ...], given: Mapping[str, Any], base: RunConfig, where: str) -> Range:
    subject = f"{where}: {', '.join(names)}"
    low: Any
    high: Any
    low, high, log = given.get("low"), given.get("high"), given.get("log", False)
    others = set(given) - {"low", "high", "log"}
    if others or not _is_number(low) or not _is_number(high) or not isinstance(log, bool):
        raise UsageError(
            f"{subject} must have low, high and perhaps log (got {dict(given)!r}). "
            "Try { low = 0.001, high = 0.01, log = true }."
        )
    if not low < high or (log and low <= 0):
        rule = "must have a low end above 0 and below the high one" if log else "must have a low end below the high one"
        raise UsageError(f"{subject} {rule} (got {low} and {high}). Swap them, or give a list of values.")
    kinds = {type(_current(name, base, where)) for name in names}
    if not kinds <= {int, float} or len(kinds) > 1:
        raise UsageError(f"{subject} can't have a range: it is no number. Give a list of values.")
    whole = kinds == {int}
    if whole and not (isinstance(low, int) and isinstance(high, int)):
        raise UsageError(f"{subject} must have whole numbers as ends (got {low} and {high}). Try {int(low)}.")
    return Range(low, high, log, whole)


def _current(name: str, base: RunConfig, where: str) -> Any:
    section, _, key = name.partition(".")
    values = base.to_json().get(section, {})
    if key not in values:
        with_settings(base, {name: None}, where)  # says what is near
    return values[key]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _require_possible(settings: Settings, base: RunConfig, where: str) -> None:
    try:
        with_settings(base, settings, where)
    except UsageError as error:
        subject = "" if where in str(error) else f"{where}: "
        raise UsageError(f"{subject}{error}") from error
