"""Write MODEL_CARD.md from the record of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gtea.config import config_from_json
from gtea.models.model_folder import SavedModel
from gtea.models.registry import entry_of


def model_card(model: SavedModel) -> str:
    """Describe the model, its training data, its metrics and its limitations."""
    config, facts, metrics = model.config, model.facts, model.metrics
    lines = [
        "# Model card",
        "",
        _description(config["run"], sum(tensor.numel() for tensor in model.weights.values())),
        "",
        f"- Task: {_task(config)}",
        f"- Created: {facts['created']}, in {facts['training_seconds']} s, seed {facts['seed']}, "
        f"{facts['threads']} threads, gtea {facts['versions']['gtea']}, torch {facts['versions']['torch']}",
        f"- Data digest: `{facts['data_digest']}`",
        f"- {_epochs(metrics)}",
        *_label_warning(model),
        "",
        "## Evaluation",
        "",
        *_split_lines(metrics["split"]),
        "",
        *_metric_table(metrics),
        "",
        _evaluation_note(metrics),
        "",
        *_split_warnings(metrics),
        "## Limitations",
        "",
        *_warnings(config),
        "- Accounts without events before the scoring date are scored by their own features only.",
        "",
    ]
    return "\n".join(lines)


def _description(run: Mapping[str, Any], num_weights: int) -> str:
    model = config_from_json(run).model
    entry = entry_of(model)
    if not entry.fitted_in_epochs:
        return f"{entry.title}, {num_weights:,} parameters. A baseline for comparison with GTEA."
    size = f"{model.num_layers} layers, {num_weights:,} weights."
    if not model.reads_histories:
        return f"{entry.title}, {size} A baseline for comparison with GTEA."
    time = "with" if model.time_encoding else "without"
    return f"{entry.title}: {model.encoder} encoder, {time} time encoding, {model.attention} attention, {size}"


def _label_warning(model: SavedModel) -> list[str]:
    """Warn that the model folder contains training labels, which matters when the model is shared."""
    labels = model.preprocessing.get("neighbour_labels")
    if not labels:
        return []
    return [
        f"- Labels of {len(labels['keys']):,} training accounts are part of the model, stored under 64-bit keys of "
        "their ids: the model reads the labels of an account's neighbours, never the account's own label"
    ]


def _epochs(metrics: Mapping[str, Any]) -> str:
    if not metrics["epochs"]:
        return "Fitted without epochs"
    return f"Epochs: {metrics['epochs']}; the best one by the validation metric was {metrics['best_epoch']}"


def _task(config: Mapping[str, Any]) -> str:
    if config["task"] == "links" and "positive" in config:
        other, link = config["classes"]
        return (
            f"classification of pairs of accounts into {link!r} and {other!r}; scores are the probability of {link!r}"
        )
    if config["task"] == "links":
        return "link prediction: will two accounts have an event; scores are the probability that they will"
    scores = f"; scores are the probability of {config['positive']!r}" if config["positive"] else ""
    return f"classification of accounts into {', '.join(map(repr, config['classes']))}{scores}"


def _warnings(config: Mapping[str, Any]) -> list[str]:
    if config["task"] == "links":
        return [
            "- Scores rank pairs. They are probabilities only for data in which half of the pairs are links, as in "
            "training; among all pairs, far fewer are links.",
            "- Accuracy and F1 are at the threshold with the highest accuracy on the validation part.",
            "- Behaviour changes over time: evaluate the model again on new events.",
        ]
    return [
        "- Scores rank accounts for human review. They are not proof.",
        "- The model was trained on events before the end of the training window. Behaviour changes over time: "
        "evaluate the model again on new labels.",
    ]


def _split_lines(split: Mapping[str, Any]) -> list[str]:
    return [f"- {name}: {value}" for name, value in split.items()]


def _split_warnings(metrics: Mapping[str, Any]) -> list[str]:
    """What the split can't show. Older models and those of estimators have no such list."""
    lines = [f"- Warning: {warning['text']}. {warning['remedy']}" for warning in metrics.get("warnings", [])]
    return [*lines, ""] if lines else []


def _metric_table(metrics: Mapping[str, Any]) -> list[str]:
    parts = [part for part in ("validation", "test") if part in metrics]
    rows = [[name, *(f"{metrics[part].get(name, float('nan')):.4f}" for part in parts)] for name in metrics[parts[-1]]]
    return [f"| {' | '.join(cells)} |" for cells in (["metric", *parts], ["---", *("---" for _ in parts)], *rows)]


def _evaluation_note(metrics: Mapping[str, Any]) -> str:
    noise = "Differences of about 0.005 between models are noise."
    if "test" in metrics:
        return f"The test part was scored once, with the weights of the best epoch on the validation part. {noise}"
    return (
        "There was no test part. The weights were chosen on the validation part, so its metrics are optimistic. "
        f"{noise}"
    )
