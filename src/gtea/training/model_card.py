"""MODEL_CARD.md, written from the run's own facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gtea.config import config_from_json
from gtea.models.model_folder import SavedModel
from gtea.models.registry import entry_of


def model_card(model: SavedModel) -> str:
    """What the model is, what it was trained on, what it scored, and what to mind."""
    config, facts, metrics = model.config, model.facts, model.metrics
    lines = [
        "# Model card",
        "",
        _what(config["run"], sum(tensor.numel() for tensor in model.weights.values())),
        "",
        f"- Task: {_task(config)}",
        f"- Made: {facts['created']}, in {facts['training_seconds']} s, seed {facts['seed']}, "
        f"{facts['threads']} threads, gtea {facts['versions']['gtea']}, torch {facts['versions']['torch']}",
        f"- Data digest: `{facts['data_digest']}`",
        f"- {_epochs(metrics)}",
        *_labels_inside(model),
        "",
        "## How it was evaluated",
        "",
        *_split_lines(metrics["split"]),
        "",
        *_metric_table(metrics),
        "",
        _judged(metrics),
        "",
        "## What to mind",
        "",
        *_warnings(config),
        "- Accounts without any event before the scoring date are told apart by their own features only.",
        "",
    ]
    return "\n".join(lines)


def _what(run: Mapping[str, Any], num_weights: int) -> str:
    model = config_from_json(run).model
    entry = entry_of(model)
    if not entry.fitted_in_epochs:
        return f"{entry.title}, {num_weights:,} numbers. A baseline: what GTEA is compared with."
    size = f"{model.num_layers} layers, {num_weights:,} weights."
    if not model.reads_histories:
        return f"{entry.title}, {size} A baseline: what GTEA is compared with."
    time = "with" if model.time_encoding else "without"
    return f"{entry.title}: {model.encoder} encoder, {time} time encoding, {model.attention} attention, {size}"


def _labels_inside(model: SavedModel) -> list[str]:
    """Whoever passes the model on should know that labels go with it."""
    known = model.preprocessing.get("neighbour_labels")
    if not known:
        return []
    return [
        f"- Labels of {len(known['keys']):,} training accounts are part of the model, under 64-bit keys of their ids: "
        "it looks up which classes are known among those an account deals with, never the account's own"
    ]


def _epochs(metrics: Mapping[str, Any]) -> str:
    if not metrics["epochs"]:
        return "Fitted to all training examples at once"
    return f"Epochs: {metrics['epochs']}, the best was {metrics['best_epoch']} (validation)"


def _task(config: Mapping[str, Any]) -> str:
    if config["task"] == "links" and "positive" in config:
        other, link = config["classes"]
        return f"pairs of accounts, {link!r} or {other!r}; scores are the probability of {link!r}"
    if config["task"] == "links":
        return "will two accounts have an event in the time to come; scores are the probability that they will"
    scores = f"; scores are the probability of {config['positive']!r}" if config["positive"] else ""
    return f"classification of accounts into {', '.join(map(repr, config['classes']))}{scores}"


def _warnings(config: Mapping[str, Any]) -> list[str]:
    if config["task"] == "links":
        return [
            "- Scores rank pairs. As probabilities they hold where one pair in two is a link, as in training; "
            "among all pairs far fewer are.",
            "- Accuracy and F1 are at the threshold that does best on the validation part. Behaviour changes; judge "
            "the model again on fresh events.",
        ]
    return [
        "- Scores rank accounts for people to look at; they are no verdict.",
        "- The model knows what training accounts did before the end of the training window. Behaviour changes; judge "
        "it again on fresh labels.",
    ]


def _split_lines(split: Mapping[str, Any]) -> list[str]:
    return [f"- {name}: {value}" for name, value in split.items()]


def _metric_table(metrics: Mapping[str, Any]) -> list[str]:
    parts = [part for part in ("validation", "test") if part in metrics]
    rows = [[name, *(f"{metrics[part].get(name, float('nan')):.4f}" for part in parts)] for name in metrics[parts[-1]]]
    return [f"| {' | '.join(cells)} |" for cells in (["metric", *parts], ["---", *("---" for _ in parts)], *rows)]


def _judged(metrics: Mapping[str, Any]) -> str:
    noise = "Gaps of about 0.005 between models are noise."
    if "test" in metrics:
        return f"The test part was looked at once, with the weights that did best on the validation part. {noise}"
    return (
        "There was no test part. The weights are those that did best on the validation part, so that its figures "
        f"flatter the model. {noise}"
    )
