"""Documents of models that were never trained, complete enough to be read again."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from gtea.config import InputSpec, ModelConfig, RunConfig
from gtea.features.event_features import EventPreprocessing
from gtea.features.node_features import NodePreprocessing
from gtea.features.preprocessing import Preprocessing
from gtea.features.scaling import ColumnScaler, TimeScaler

FACTS: dict[str, Any] = {
    "data_digest": "", "seed": 0, "threads": 1, "versions": {"gtea": "0", "torch": "0"}, "created": "now",
    "training_seconds": 0.1,
}  # fmt: skip
CONFIG: dict[str, Any] = {
    "input": dataclasses.asdict(InputSpec(1, 2, 1.0, 2.0)),
    "run": RunConfig(ModelConfig(family="tree")).to_json(),
}
_SCALER = ColumnScaler(("gap",), (0.0,), (0.0,), (1.0,))
_FITTED = Preprocessing(
    TimeScaler(0, 1, 2.0, steps=True),
    EventPreprocessing(_SCALER, ()),
    NodePreprocessing(("statistics",), None, _SCALER, 0),
)
PREPROCESSING: dict[str, Any] = json.loads(json.dumps(_FITTED.to_json()))


def metrics_of(classes: Sequence[str] | None) -> dict[str, Any]:
    """Metrics of a model of accounts of some classes, or of links."""
    found = {"accuracy": 0.5, "macro_f1": 0.5, "average_precision": 0.5, "prevalence": 0.5}
    part = {"pairs": 9} if classes is None else {"accounts": 9, "classes": dict.fromkeys(classes, 1)}
    split = {"split": "made", "train": part, "validation": part}
    return {"validation": found, "best_epoch": 0, "epochs": 1, "split": split}
