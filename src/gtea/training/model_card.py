"""Write MODEL_CARD.md from the record of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gtea.config import config_from_json
from gtea.models.model_folder import SavedModel
from gtea.models.registry import entry_of
from gtea.runtime.printable import printable

_FEW = 30
"""With fewer validation examples of a class, what was fitted to them may be chance; likewise with fewer than twice as
many in all."""


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
        *_probability_section(model),
        "## Limitations",
        "",
        *_warnings(config),
        "- Accounts without events before the scoring date are scored by their own features only.",
        "",
    ]
    return "\n".join(map(printable, lines))


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
        f"- Labels of {len(labels['keys']):,} accounts are part of the model, stored under 64-bit keys of "
        "their ids: the model reads the labels of an account's neighbours, never the account's own label"
    ]


def _epochs(metrics: Mapping[str, Any]) -> str:
    if not metrics["epochs"]:
        return "Fitted without epochs"
    return f"Epochs: {metrics['epochs']}; the best one by the validation metric was number {metrics['best_epoch'] + 1}"


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
        shares = (
            "in which the classes have the shares of the labelled pairs"
            if "positive" in config
            else "in which half of the pairs are links, as in training; among all pairs, far fewer are links"
        )
        return [
            f"- Scores rank pairs. They are probabilities only for data {shares}.",
            "- Behaviour changes over time: evaluate the model again on new events.",
        ]
    return [
        "- Scores rank accounts for human review. They are not proof.",
        "- The model was trained on events before the end of the training window. Behaviour changes over time: "
        "evaluate the model again on new labels.",
    ]


def _split_lines(split: Mapping[str, Any]) -> list[str]:
    return [f"- {name.replace('_', ' ')}: {_shown(value)}" for name, value in split.items()]


def _shown(value: Any) -> str:
    """A value of the split's description in words. Stored times are left out: their dates stand beside them."""
    match value:
        case {"classes": classes, **others}:
            counts = ", ".join(f"{count:,} of {name!r}" for name, count in classes.items())
            return f"{counts}; {_shown(others)}"
        case dict():
            facts = ((name.replace("_", " "), _shown(fact)) for name, fact in value.items() if name != "as_of" and fact)
            return "; ".join(f"{name} {fact}" for name, fact in facts) or "none"
        case [first, last]:
            return f"{first} to {last}"
        case int():
            return f"{value:,}"
        case _:
            return str(value)


def _split_warnings(metrics: Mapping[str, Any]) -> list[str]:
    """What the split can't show. Older models and those of estimators have no such list."""
    lines = [f"- Warning: {warning['text']}. {warning['remedy']}" for warning in metrics.get("warnings", [])]
    return [*lines, ""] if lines else []


def _metric_table(metrics: Mapping[str, Any]) -> list[str]:
    parts = [part for part in ("validation", "test") if part in metrics]
    rows = [[name, *(f"{metrics[part].get(name, float('nan')):.4f}" for part in parts)] for name in metrics[parts[-1]]]
    return _table(["metric", *parts], rows)


def _evaluation_note(metrics: Mapping[str, Any]) -> str:
    noise = "Differences of about 0.005 between models are noise."
    if "test" in metrics:
        note = f"The test part was scored once, with the weights of the best epoch on the validation part. {noise}"
    else:
        note = (
            "There was no test part. The weights were chosen on the validation part, so its metrics are optimistic. "
            f"{noise}"
        )
    if not metrics.get("refit_trees"):
        return note
    return (
        f"{note} Validation metrics are those of trees that were fitted to the training part alone. The trees of this "
        "model were fitted again, to training and validation part together."
    )


def _probability_section(model: SavedModel) -> list[str]:
    """How probabilities were made, how far they can be trusted, and what is an alert. Models of gtea 0.1 have none."""
    if model.calibration is None or "calibration" not in model.metrics:
        return []
    lines = [
        *_blend_lines(model),
        *_correction_lines(model.calibration, model.config),
        *_few_lines(model),
        *_threshold_lines(model),
        *_tree_lines(model.metrics),
    ]
    table = _before_and_after(model.metrics["calibration"])
    return ["## Probabilities and decisions", "", *lines, "", *table, "", "The same as a picture: reliability.svg.", ""]


def _blend_lines(model: SavedModel) -> Iterator[str]:
    """What each of a hybrid's models counts."""
    if "blend.weights" not in model.weights:
        return
    weights = model.weights["blend.weights"].tolist()
    trees = ("trees on own features", "trees on all features") if len(weights) > 2 else ("trees",)
    shown = ", ".join(f"{name} {weight:.2f}" for name, weight in zip(("network", *trees), weights, strict=True))
    yield f"- Blend: {shown}. The weights of log probabilities are fitted to the validation part"


def _correction_lines(correction: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[str]:
    weighted = "" if correction["class_weights"] is None else "; before that, the class weights of the loss are undone"
    yield f"- Calibration, fitted to the validation part: {_calibration(correction['calibration'])}{weighted}"
    if correction.get("doubt"):
        yield (
            f"- Probabilities have {correction['doubt']:.2g} of the class shares of training in them: "
            "what seems certain now need not stay so"
        )
    if correction["population"] is not None:
        share = correction["population"][config["classes"].index(config["positive"])]
        yield (
            f"- Probabilities and threshold are for a population with {share:.3g} of {config['positive']!r}. "
            "Metrics are those of the labelled accounts, as they were sampled"
        )


def _calibration(calibration: Mapping[str, Any]) -> str:
    match calibration["kind"]:
        case "temperature":
            fault = "too sure" if calibration["temperature"] > 1 else "too modest"
            return f"a temperature of {calibration['temperature']:.3g} that log odds are divided by: it was {fault}"
        case "sigmoid":
            return f"log odds times {calibration['slope']:.3g}, plus {calibration['intercept']:.3g} (sigmoid)"
        case "isotonic":
            return f"an ascending curve of {len(calibration['knots'])} points (isotonic)"
        case _:
            return "none, because none was better"


def _few_lines(model: SavedModel) -> Iterator[str]:
    """Say that the validation part could hardly tell."""
    part = model.metrics["split"]["validation"]
    classes = part.get("classes", {"links": part.get("pairs", 0)})
    rarest = min(classes, key=classes.__getitem__)
    if len(classes) <= 2 and classes[rarest] < _FEW:
        few = f"{classes[rarest]} of {rarest!r}"
    elif sum(classes.values()) < 2 * _FEW:
        few = f"{sum(classes.values())} examples of {len(classes)} classes"
    else:
        return
    fitted = {
        "blend": "blend.weights" in model.weights,
        "calibration": True,
        "threshold": (model.thresholds or {}).get("threshold") is not None,
    }
    choices = ", ".join(name for name, is_fitted in fitted.items() if is_fitted)
    yield f"- The validation part is small ({few}): it could hardly tell what is best ({choices})"


_RULES = {
    "macro_f1": "best macro-F1 on the validation part",
    "half": "one half: the validation part gives no better one",
    "precision": "lowest with the wanted precision on the validation part",
    "budget": "by the wanted number of alerts",
}


def _threshold_lines(model: SavedModel) -> Iterator[str]:
    """From which probability on an example is an alert, and what to expect of the alerts."""
    threshold = (model.thresholds or {}).get("threshold")
    if threshold is None:
        return
    kind = "pairs" if model.config["task"] == "links" else "accounts"
    by_budget = threshold["rule"] == "budget"
    where = "the best for macro-F1 on the validation part, or one half" if by_budget else "this threshold"
    yield (
        f"- Alert: a probability of {threshold['value']:.4g} or more ({_RULES[threshold['rule']]}). "
        f"Accuracy and F1 above are at {where}"
    )
    part = f"{threshold['num_alerts']:,} accounts of the store" if by_budget else f"by the validation {kind}"
    expected = threshold["expected_precision"]
    right = "" if expected is None else f"; by their probabilities, {expected:.1%} of the alerts are right"
    yield f"- Alerts to expect: {threshold['alert_share']:.2%} ({part}){right}"
    measured = [
        f"{name} {share['value']:.1%} ({share['low']:.1%} to {share['high']:.1%})"
        for name in ("precision", "recall")
        if (share := threshold[name]) is not None
    ]
    if measured:
        corrected = (model.calibration or {}).get("population") is not None
        where = ", corrected to the population" if corrected else ""
        yield f"- Alerts among the validation {kind}{where}, with 95 % intervals: {', '.join(measured)}"


def _tree_lines(metrics: Mapping[str, Any]) -> Iterator[str]:
    """How far a hybrid is ahead of its trees."""
    if "against_trees" not in metrics:
        return
    shown = [
        f"{name.replace('_', ' ')} {found['difference']:+.4f} ({found['low']:+.4f} to {found['high']:+.4f})"
        for name, found in metrics["against_trees"].items()
    ]
    yield f"- Against its trees alone, on the test part, with 95 % intervals: {', '.join(shown)}"


def _before_and_after(parts: Mapping[str, Any]) -> list[str]:
    """Figures of the probabilities before and after calibration, by part."""
    titles = {"log_loss": "log loss", "brier": "Brier score", "calibration_error": "calibration error"}
    stages = [(part, stage) for part in parts for stage in ("before", "after")]
    rows = [
        [title, *(f"{parts[part][stage][name]:.4f}" for part, stage in stages)]
        for name, title in titles.items()
        if name in parts["validation"]["after"]
    ]
    return _table(["lower is better", *(f"{part}, {stage}" for part, stage in stages)], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
