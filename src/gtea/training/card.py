"""MODEL_CARD.md, written from the run's own facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gtea.checkpoint import SavedModel


def model_card(model: SavedModel) -> str:
    """What the model is, what it was trained on, what it scored, and what to mind."""
    config, facts, metrics = model.config, model.facts, model.metrics
    chosen = config["run"]["model"]
    time = "with" if chosen["time_encoding"] else "without"
    num_weights = sum(tensor.numel() for tensor in model.weights.values())
    lines = [
        "# Model card",
        "",
        f"GTEA, {chosen['encoder']} encoder, {time} time encoding, {chosen['attention']} attention, "
        f"{chosen['num_layers']} layers, {num_weights:,} weights.",
        "",
        f"- Task: classification of accounts into {', '.join(map(repr, config['classes']))}"
        + (f"; scores are the probability of {config['positive']!r}" if config["positive"] else ""),
        f"- Made: {facts['created']}, in {facts['training_seconds']} s, seed {facts['seed']}, "
        f"{facts['threads']} threads, gtea {facts['versions']['gtea']}, torch {facts['versions']['torch']}",
        f"- Data digest: `{facts['data_digest']}`",
        f"- Epochs: {metrics['epochs']}, the best was {metrics['best_epoch']} (validation)",
        "",
        "## How it was judged",
        "",
        *_split_lines(metrics["split"]),
        "",
        *_metric_table(metrics),
        "",
        "The test part was looked at once, with the weights that did best on the validation part. Gaps of about 0.005 "
        "between models are noise.",
        "",
        "## What to mind",
        "",
        "- Scores rank accounts for people to look at; they are no verdict.",
        "- The model knows what training accounts did before the end of the training window. Behaviour changes; judge "
        "it again on fresh labels.",
        "- Accounts without any event before the scoring date are told apart by their own features only.",
        "",
    ]
    return "\n".join(lines)


def _split_lines(split: Mapping[str, Any]) -> list[str]:
    return [f"- {name}: {value}" for name, value in split.items()]


def _metric_table(metrics: Mapping[str, Any]) -> list[str]:
    names = list(metrics["test"])
    figures = {name: (metrics["validation"].get(name, float("nan")), metrics["test"][name]) for name in names}
    rows = [f"| {name} | {validation:.4f} | {test:.4f} |" for name, (validation, test) in figures.items()]
    return ["| metric | validation | test |", "|---|---|---|", *rows]
