"""What a model and a run are made of: frozen, checked once when they are made, and free of torch."""

from gtea.config.model import VARIANTS, Attention, Encoder, InputSpec, ModelConfig, variant
from gtea.config.run import (
    FeaturesConfig,
    RunConfig,
    SamplingConfig,
    SplitConfig,
    TrainConfig,
    config_from_json,
    read_config,
)

__all__ = [
    "VARIANTS",
    "Attention",
    "Encoder",
    "FeaturesConfig",
    "InputSpec",
    "ModelConfig",
    "RunConfig",
    "SamplingConfig",
    "SplitConfig",
    "TrainConfig",
    "config_from_json",
    "read_config",
    "variant",
]
