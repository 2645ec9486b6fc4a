"""The settings that come with gtea for its reproductions: ``settings.toml``, whose head says how it is written."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from gtea.config import RunConfig, with_settings
from gtea.models.registry import GTEA_MODELS
from gtea.tasks.link_split import LinkProtocol

_NAME = "settings.toml"


def laid_over(config: RunConfig, data: str, protocol: LinkProtocol, model: str) -> RunConfig:
    """The configuration with what settings.toml has for a data set, a protocol and a model."""
    for where, given in _layers(data, protocol, model):
        config = with_settings(config, given, where)
    return config


def _layers(data: str, protocol: LinkProtocol, model: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Where each layer stands, and what it says; later ones win."""
    layers = _packaged().get(data, {}).get(protocol, {})
    for whom in ("all", *(["gtea"] if model in GTEA_MODELS else []), model):
        if whom in layers:
            yield f"{_NAME} [{data}.{protocol}.{whom}]", layers[whom]


def _packaged() -> dict[str, Any]:
    return tomllib.loads(files("gtea.experiments.paper").joinpath(_NAME).read_text(encoding="utf-8"))
