"""Settings of models and runs: frozen dataclasses that are validated on creation and do not import torch."""

from gtea.config.model_config import (
    Attention,
    Encoder,
    Family,
    InputSpec,
    ModelConfig,
    require_one_of,
)
from gtea.config.run_config import (
    FeaturesConfig,
    NodeKind,
    RunConfig,
    SamplingConfig,
    SplitConfig,
    TimeOrigin,
    TrainConfig,
    config_from_json,
    read_config,
    read_toml,
    with_settings,
)

__all__ = [
    "Attention",
    "Encoder",
    "Family",
    "FeaturesConfig",
    "InputSpec",
    "ModelConfig",
    "NodeKind",
    "RunConfig",
    "SamplingConfig",
    "SplitConfig",
    "TimeOrigin",
    "TrainConfig",
    "config_from_json",
    "read_config",
    "read_toml",
    "require_one_of",
    "with_settings",
]
