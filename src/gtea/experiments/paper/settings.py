"""Packaged settings of ``gtea reproduce``. The header of ``settings.toml`` describes the format."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from gtea.config import RunConfig, with_settings
from gtea.models.registry import GTEA_MODELS
from gtea.tasks.link_split import LinkProtocol

_NAME = "settings.toml"


def with_packaged_settings(config: RunConfig, data: str, protocol: LinkProtocol, model: str) -> RunConfig:
    """Apply the settings that settings.toml has for a data set, a protocol and a model."""
    for section, values in _sections(data, protocol, model):
        config = with_settings(config, values, section)
    return config


def _sections(data: str, protocol: LinkProtocol, model: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The names and values of the matching sections; later ones win."""
    sections = _packaged().get(data, {}).get(protocol, {})
    for scope in ("all", *(["gtea"] if model in GTEA_MODELS else []), model):
        if scope in sections:
            yield f"{_NAME} [{data}.{protocol}.{scope}]", sections[scope]


def _packaged() -> dict[str, Any]:
    return tomllib.loads(files("gtea.experiments.paper").joinpath(_NAME).read_text(encoding="utf-8"))
