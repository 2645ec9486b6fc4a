"""A trained model against a tree that an outsider writes in an hour: 33 plain statistics and scikit-learn's boosting.

    gtea train payments.store --labels labels.csv --out payments.model
    python benchmarks/outsider.py payments.model payments.csv labels.csv --src payer --dst payee --amount amount

Nothing of gtea.features is used. Parts and cuts are those of the model: its metrics.json and predictions.parquet say
them. The tree learns from the training accounts as of their cut and the validation accounts as of theirs, and from all
of them as of the test part's cut. No class weights, no settings, a threshold of one half. For accounts in a split by
time whose store was ingested from one table with numeric times.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import f1_score

from gtea.tasks.metrics import average_precision, expected_calibration_error, log_likelihood

_DAY = 86_400
_LEAST = 1e-6


def plain_statistics(events: Any, cut: float) -> Any:
    """One row per account with an event before the cut, of a frame with the columns src, dst, time and amount."""
    past = events[events["time"] < cut]
    both = pd.DataFrame(
        {
            "account": np.concatenate([past["src"], past["dst"]]),
            "partner": np.concatenate([past["dst"], past["src"]]),
            "time": np.tile(past["time"].astype(float), 2),
            "amount": np.tile(past["amount"].astype(float), 2),
            "out": np.repeat([True, False], len(past)),
        }
    ).sort_values(["account", "time"], kind="stable")
    groups = both.groupby("account")
    first, last = groups["time"].min(), groups["time"].max()
    rows = pd.DataFrame({"events": groups.size(), "partners": groups["partner"].nunique()})
    rows["span"], rows["age"], rows["idle"] = last - first, cut - first, cut - last
    rows["rate"] = rows["events"] / (rows["span"] + _DAY)
    for name, side in (("out", both[both["out"]]), ("in", both[~both["out"]])):
        each = side.groupby("account")
        rows[f"{name}_events"] = each.size().reindex(rows.index).fillna(0)
        rows[f"{name}_partners"] = each["partner"].nunique().reindex(rows.index).fillna(0)
        for figure in ("sum", "mean", "std", "max", "min"):
            rows[f"{name}_{figure}"] = each["amount"].agg(figure)
    got, sent = rows["in_sum"].fillna(0), rows["out_sum"].fillna(0)
    rows["net"], rows["out_share"] = got - sent, rows["out_events"] / rows["events"]
    rows["passed"] = np.minimum(got, sent) / np.maximum(np.maximum(got, sent), 1e-9)
    gaps = groups["time"].diff().groupby(both["account"])
    for figure in ("mean", "std", "min", "median"):
        rows[f"gap_{figure}"] = gaps.agg(figure)
    rows["amount_median"], rows["amount_cv"] = (
        groups["amount"].median(),
        groups["amount"].std() / groups["amount"].mean(),
    )
    return rows.join(_of_partners(both, rows))


def _of_partners(both: Any, rows: Any) -> Any:
    pairs = both.groupby(["account", "partner"]).size().rename("events").reset_index()
    pairs["degree"] = rows["partners"].reindex(pairs["partner"]).to_numpy()
    pairs["size"] = rows["events"].reindex(pairs["partner"]).to_numpy()
    each = pairs.groupby("account")
    return pd.DataFrame(
        {
            "top_share": each["events"].max() / rows["events"],
            "partner_degree_mean": each["degree"].mean(),
            "partner_degree_max": each["degree"].max(),
            "partner_events_mean": each["size"].mean(),
        }
    )


def figures(truth: NDArray[Any], chances: NDArray[Any], positive: int | None, threshold: float = 0.5) -> str:
    """The metrics of a test part in one line."""
    chances = np.clip(chances, _LEAST, 1)
    chances /= chances.sum(axis=1, keepdims=True)
    if positive is None:
        said = chances.argmax(axis=1)
        ranking, error = float((said == truth).mean()), expected_calibration_error(said == truth, chances.max(axis=1))
    else:
        said = np.where(chances[:, positive] >= threshold, positive, 1 - positive)
        ranking = average_precision(truth == positive, chances[:, positive])
        error = expected_calibration_error(truth == positive, chances[:, positive])
    return (
        f"{ranking:8.4f} {log_likelihood(truth, chances):14.4f} {f1_score(truth, said, average='macro'):8.4f} "
        f"{(said == truth).mean():8.4f} {error:11.4f}"
    )


def outsiders_tree(rows: Any, targets: NDArray[Any], test: Any, num_classes: int) -> NDArray[Any]:
    """The probabilities of an untuned tree for test rows."""
    model = HistGradientBoostingClassifier(random_state=0).fit(rows, targets)
    chances = np.zeros((len(test), num_classes))
    chances[:, model.classes_] = model.predict_proba(test)
    return chances


def compare(folder: Path, events: Any, labels: Any) -> None:
    """Print the model's figures on its test part, and those of the outsider's tree."""
    metrics, config = (json.loads((folder / f"{name}.json").read_text()) for name in ("metrics", "config"))
    predictions = pd.read_parquet(folder / "predictions.parquet")
    classes, positive = list(config["classes"]), config["positive"]
    place = None if positive is None else classes.index(positive)
    limit = None if place is None else json.loads((folder / "thresholds.json").read_text())["threshold"]["value"]
    validation, test = (predictions[predictions["part"] == name] for name in ("validation", "test"))
    split = metrics["split"]
    scale = 10 ** round(float(np.log10(split["test"]["as_of"] / events["time"].max())))
    rows = [plain_statistics(events, split[name]["as_of"] / scale) for name in ("train", "validation", "test")]
    labels = labels[~labels["account"].isin(predictions["account"]) & labels["account"].isin(rows[0].index)]
    train = labels["label"].astype(str).map(classes.index).to_numpy()
    targets = np.concatenate([train, validation["target"]])
    accounts = np.concatenate([labels["account"], validation["account"]])
    own = pd.concat([rows[0].reindex(labels["account"]), rows[1].reindex(validation["account"])])
    asked, truth = rows[2].reindex(test["account"]), test["target"].to_numpy()
    print(f"{len(truth):,} test accounts; AP, or accuracy of more than two classes")
    print(f"{'':34s}       AP log-likelihood macro-F1 accuracy calibration")
    shown = test[[f"p_{name}" for name in classes]].to_numpy()
    print(f"{'model':34s} {figures(truth, shown, place, limit or 0.5)}")
    for name, fitted in (("own cuts", own), ("as of the test cut", rows[2].reindex(accounts))):
        chances = outsiders_tree(fitted, targets, asked, len(classes))
        print(f"{f'outsider, {name}':34s} {figures(truth, chances, place)}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("events", type=Path)
    parser.add_argument("labels", type=Path)
    for role in ("src", "dst", "time"):
        parser.add_argument(f"--{role}", default=role)
    parser.add_argument("--amount", help="A column of amounts; by default every event counts as 1.")
    given = parser.parse_args()
    table = pd.read_csv(given.events)
    events = pd.DataFrame({role: table[getattr(given, role)] for role in ("src", "dst", "time")})
    events["amount"] = table[given.amount] if given.amount else 1.0
    compare(given.model, events, pd.read_csv(given.labels))


if __name__ == "__main__":
    main()
