"""What a model and a run are made of: frozen, checked once when they are made, and free of torch."""

from gtea.config.model import (
    BASELINES,
    GTEA_MODELS,
    HYBRID,
    VARIANTS,
    Attention,
    Encoder,
    Family,
    InputSpec,
    ModelConfig,
    variant,
)
from gtea.config.run import (
    FeaturesConfig,
    RunConfig,
    SamplingConfig,
    SplitConfig,
    TrainConfig,
    config_from_json,
    link_defaults,
    read_config,
    read_toml,
    with_settings,
)

__all__ = [
    "BASELINES",
    "GTEA_MODELS",
    "HYBRID",
    "VARIANTS",
    "Attention",
    "Encoder",
    "Family",
    "FeaturesConfig",
    "InputSpec",
    "ModelConfig",
    "RunConfig",
    "SamplingConfig",
    "SplitConfig",
    "TrainConfig",
    "config_from_json",
    "link_defaults",
    "read_config",
    "read_toml",
    "variant",
    "with_settings",
]
