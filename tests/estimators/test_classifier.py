"""GTEAClassifier, alone and in scikit-learn's hands."""

from __future__ import annotations

import copy
import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gtea as package
from gtea.config import ModelConfig
from gtea.errors import DataError, UsageError
from gtea.estimators.classifier import GTEAClassifier
from gtea.models.registry import BASELINES, default_config
from gtea.store.store import Store

QUICK: dict[str, Any] = {
    "d_node": 6, "d_edge": 4, "fanout": 3, "max_events": 4, "batch_size": 32, "epochs": 1, "lr": 0.01, "device": "cpu",
}  # fmt: skip


@pytest.fixture(scope="module")
def fitted(store: Store, examples: Any) -> GTEAClassifier:
    return GTEAClassifier(store, **QUICK).fit(*examples)


def decided(model: GTEAClassifier, chances: Any) -> list[str | None]:
    """Of two classes, by the threshold of the positive one."""
    threshold, positive = model.model_.threshold, model.model_.positive
    assert threshold is not None
    (other,) = set(model.model_.classes) - {positive}
    column = model.classes_.tolist().index(positive)
    return [positive if row[column] >= threshold.value else other for row in chances]


@pytest.mark.parametrize("value", [0.0, 0.3, 0.9, 1.0])
def test_labels_are_decided_at_the_threshold(fitted: GTEAClassifier, examples: Any, value: float) -> None:
    model = copy.copy(fitted)
    model.model_ = copy.copy(fitted.model_)
    assert fitted.model_.threshold is not None
    model.model_.threshold = replace(fitted.model_.threshold, value=value)
    chances = model.predict_proba(examples[0])
    assert model.predict(examples[0]).tolist() == decided(model, chances)
    if value == 0:
        assert set(model.predict(examples[0])) == {model.model_.positive}


def test_of_three_classes_the_most_likely_one(store: Store, examples: Any) -> None:
    accounts, _ = examples
    model = GTEAClassifier(store, model="tree", **QUICK).fit(accounts, np.arange(len(accounts)) % 3)
    assert model.model_.threshold is None
    chances = model.predict_proba(accounts)
    assert model.predict(accounts).tolist() == chances.argmax(axis=1).tolist()


def test_probabilities_labels_and_embeddings(fitted: GTEAClassifier, examples: Any) -> None:
    accounts, y = examples
    chances = fitted.predict_proba(accounts[:7])
    assert chances.shape == (7, 2)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert fitted.classes_.tolist() == sorted(set(y))
    assert fitted.predict(accounts[:7]).tolist() == decided(fitted, chances)
    assert fitted.transform(accounts[:7]).shape == (7, 6)
    assert len(fitted.get_feature_names_out()) == 6
    assert 0 <= fitted.score(accounts, y) <= 1
    assert is_classifier(fitted)
    assert fitted.n_features_in_ == 1


def test_the_same_seed_gives_the_same_model_and_another_another(
    store: Store, fitted: GTEAClassifier, examples: Any
) -> None:
    accounts, y = examples
    again = GTEAClassifier(str(store.path), **QUICK).fit(list(accounts[::-1]), list(y[::-1]))
    np.testing.assert_array_equal(again.predict_proba(accounts), fitted.predict_proba(accounts))
    assert again.graph == str(store.path)
    other = GTEAClassifier(store, **QUICK, random_state=1).fit(accounts, y)
    assert (other.predict_proba(accounts) != fitted.predict_proba(accounts)).any()


def test_cloning_shares_the_store(store: Store) -> None:
    estimator = GTEAClassifier(store, lr=0.5)
    copy = clone(estimator)
    assert copy is not estimator
    assert copy.graph is store
    assert copy.get_params() == estimator.get_params()
    assert copy.set_params(lr=0.25).lr == 0.25
    assert estimator.lr == 0.5


def test_cross_validation(store: Store, examples: Any) -> None:
    scores = cross_val_score(GTEAClassifier(store, **QUICK), *examples, cv=2, scoring="roc_auc", error_score="raise")
    assert np.isfinite(scores).all()


def test_grid_search(store: Store, examples: Any) -> None:
    grid = {"lr": np.array([0.001, 0.02]), "d_node": np.array([4])}
    search = GridSearchCV(GTEAClassifier(store, **QUICK), grid, cv=2, error_score="raise").fit(*examples)
    assert search.best_params_["lr"] in (0.001, 0.02)
    assert search.best_estimator_.graph is store
    assert search.predict(examples[0][:3]).shape == (3,)


@pytest.mark.parametrize("ensemble", [True, False])
def test_calibration(store: Store, examples: Any, ensemble: bool) -> None:
    accounts, y = examples
    model = CalibratedClassifierCV(GTEAClassifier(store, **QUICK), cv=2, ensemble=ensemble).fit(accounts, y)
    np.testing.assert_allclose(model.predict_proba(accounts).sum(axis=1), 1)


@pytest.mark.parametrize("kind", ["str", "int", "bool"])
def test_a_saved_model_gives_the_same_answers(store: Store, examples: Any, tmp_path: Path, kind: str) -> None:
    accounts, y = examples
    labels = {"str": y, "int": np.where(y == y[0], 10, 9), "bool": y == y[0]}[kind]
    model = GTEAClassifier(store, **QUICK).fit(accounts, labels)
    model.save(tmp_path / "m")
    loaded = package.load(tmp_path / "m", graph=store, device="cpu")
    np.testing.assert_array_equal(loaded.predict_proba(accounts), model.predict_proba(accounts))
    np.testing.assert_array_equal(loaded.transform(accounts), model.transform(accounts))
    np.testing.assert_array_equal(loaded.predict(accounts), model.predict(accounts))
    assert loaded.classes_.dtype.kind == labels.dtype.kind
    given = {name: value for name, value in model.get_params().items() if value is not None}
    assert {name: loaded.get_params()[name] for name in given} == given
    assert loaded._config() == model._config()
    with pytest.raises(UsageError, match=r"m: exists\. Choose another path\."):
        model.save(tmp_path / "m")


def test_labels_that_json_can_not_hold_are_saved_as_words(store: Store, examples: Any, tmp_path: Path) -> None:
    accounts, y = examples
    days = np.where(y == y[0], np.datetime64("2024-01-31"), np.datetime64("2024-02-29"))
    model = GTEAClassifier(store, **QUICK).fit(accounts, days)
    assert set(model.predict(accounts)) <= set(days)
    model.save(tmp_path / "m")
    assert package.load(tmp_path / "m", store).classes_.tolist() == ["2024-01-31", "2024-02-29"]


def test_the_command_line_scores_with_it(
    gtea: Callable[..., Any], store: Store, fitted: GTEAClassifier, examples: Any, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "m")
    assert "There was no test part" in (tmp_path / "m" / "MODEL_CARD.md").read_text()
    outcome = gtea("score", tmp_path / "m", store.path, "--out", tmp_path / "scores.csv", "--device", "cpu")
    assert outcome.code == 0, outcome.err
    with (tmp_path / "scores.csv").open(newline="") as stream:
        rows = {row["account"]: float(row[f"p_{fitted.classes_[0]}"]) for row in csv.DictReader(stream)}
    expected = fitted.predict_proba(examples[0])[:, 0]
    np.testing.assert_allclose([rows[account] for account in examples[0]], expected, rtol=1e-9)
    evaluated = gtea("evaluate", tmp_path / "m", store.path, "--labels", store.path.parent / "labels.csv", "--json")
    assert json.loads(evaluated.out)["accounts"] == len(examples[0])


def test_a_model_of_gtea_train_can_be_loaded(
    gtea: Callable[..., Any], store: Store, examples: Any, tmp_path: Path
) -> None:
    settings = ["model.d_node=6", "train.epochs=1", "sampling.fanout=3", "sampling.max_events=4"]
    words = [word for setting in settings for word in ("--set", setting)]
    outcome = gtea("train", store.path, "--labels", store.path.parent / "labels.csv", *words, "--out", tmp_path / "m")
    assert outcome.code == 0, outcome.err
    loaded = package.load(tmp_path / "m", store)
    assert set(loaded.predict(examples[0])) <= set(examples[1])
    assert loaded.d_node == 6


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("hybrid", {"features.rank_inputs": True, "model.dropout": np.float64(0.3)}),
        ("hybrid", {"model.node_limit": 0.0, "train.metric": "macro_f1"}),
        ("tree", None),
        ("gtea", None),
        ("gtea", {"model.node_limit": 3.0}),
        ("gcn", {"train.schedule": "cosine"}),
    ],
)
def test_what_was_loaded_trains_as_it_was_trained(
    store: Store, fitted: GTEAClassifier, examples: Any, tmp_path: Path, name: str, settings: dict[str, Any] | None
) -> None:
    """Also what is no parameter of its own: a clone of a loaded tree once trained a GTEA."""
    model = GTEAClassifier(store, model=name, **QUICK, settings=settings).fit(*examples)
    first = model.predict_proba(examples[0])
    assert (first != fitted.predict_proba(examples[0])).any()
    model.save(tmp_path / "m")
    loaded = package.load(tmp_path / "m", store, device="cpu")
    assert (loaded.model, loaded.settings) == (name, settings)
    again = clone(loaded).fit(*examples)
    np.testing.assert_array_equal(again.predict_proba(examples[0]), first)


def test_every_model_is_trained_by_its_name(store: Store, examples: Any) -> None:
    families = {}
    for name in ("hybrid", "gtea", *BASELINES):
        if name != "edgebank":
            model = GTEAClassifier(store, model=name, **{**QUICK, "d_node": 8}).fit(*examples)
            families[name] = model.model_.config.model.family
            assert np.isfinite(model.predict_proba(examples[0])).all()
    assert families == {name: name for name in families}
    with pytest.raises(UsageError, match="edgebank: only predicts links"):
        GTEAClassifier(store, model="edgebank", **QUICK).fit(*examples)
    with pytest.raises(UsageError, match=r"model must be one of 'hybrid', 'gtea', .* \(got 'gtea-l'\)"):
        GTEAClassifier(store, model="gtea-l", **QUICK).fit(*examples)


def test_parameters_that_are_not_given_have_the_models_defaults(store: Store) -> None:
    for name in ("hybrid", "gtea", "gcn"):
        estimator = GTEAClassifier(store, model=name)
        left = {key for key, value in estimator.get_params().items() if value is None}
        assert {"encoder", "num_layers", "lr", "epochs", "fanout", "features", "settings"} <= left
        assert estimator._config() == default_config(ModelConfig(family=name), "nodes")
    changed = GTEAClassifier(store, lr=0.5, num_layers=1, encoder="transformer")._config()
    assert (changed.train.lr, changed.model.num_layers, changed.model.encoder) == (0.5, 1, "transformer")
    assert changed.train.metric == "log_likelihood"


def test_a_grid_over_models(store: Store, examples: Any) -> None:
    grid = {"model": ["tree", "gtea"]}
    search = GridSearchCV(GTEAClassifier(store, **QUICK), grid, cv=2, error_score="raise").fit(*examples)
    assert search.best_params_["model"] in grid["model"]


def test_a_grid_over_settings(store: Store, examples: Any) -> None:
    grid = {"settings": [None, {"model.dropout": 0.5}]}
    search = GridSearchCV(GTEAClassifier(store, **QUICK), grid, cv=2, error_score="raise").fit(*examples)
    assert search.best_params_["settings"] in grid["settings"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model.dropuot": 0.1}, r"unknown key 'model\.dropuot' in settings\. Did you mean 'model\.dropout'\?"),
        ({"model.d_node": 4}, r"settings: model\.d_node is set by the parameter d_node\. Pass it there\."),
        ({"train.seed": 4}, r"settings: train\.seed is set by the parameter random_state\. Pass it there\."),
        ({"split.fractions": [0.5, 0.25, 0.25]}, r"settings: split\.fractions does not apply, because examples are"),
        ({"model.family": "tree"}, r"settings: model\.family is set by the parameter model\. Pass it there\."),
        ({"features.ages": True}, r"features\.ages: is now called features\.recency \(in settings\)\."),
        ({"train.workers": 2}, r"train\.workers: is now called GTEA_WORKERS, an environment variable"),
        ({"model": {"d_node": 4}}, r"settings: names must include their section \(got 'model'\)\."),
        ({"model.dropout": "much"}, r"model\.dropout must be"),
    ],
)
def test_other_settings_that_are_refused(store: Store, examples: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        GTEAClassifier(store, **QUICK, settings=settings).fit(*examples)


def test_columns_of_one_are_accounts_too(fitted: GTEAClassifier, examples: Any) -> None:
    accounts = examples[0][:5]
    expected = fitted.predict_proba(accounts)
    for same in (accounts.reshape(-1, 1), pd.DataFrame({"account": accounts}), pd.Series(accounts), list(accounts)):
        np.testing.assert_array_equal(fitted.predict_proba(same), expected)


def test_nothing_after_the_cut_is_seen(store: Store, examples: Any) -> None:
    middle = int(np.median(store.arrays.event_time))
    model = GTEAClassifier(store, as_of=middle, **QUICK).fit(*examples)
    assert model.cut_ == middle
    split = model.model_.saved.metrics["split"]
    assert {split[part]["as_of"] for part in ("train", "validation")} == {middle}


def test_as_of_is_the_estimators_unless_a_call_names_another(store: Store, examples: Any) -> None:
    accounts, y = examples
    middle = int(np.median(store.arrays.event_time))
    model = GTEAClassifier(store, as_of=middle, **QUICK).fit(accounts, y)
    own = model.predict_proba(accounts)
    np.testing.assert_array_equal(model.predict_proba(accounts, as_of=store.date(middle)), own)
    later = model.predict_proba(accounts, as_of=store.end)
    assert (later != own).any()
    assert (model.transform(accounts, as_of=store.end) != model.transform(accounts)).any()
    assert model.predict(accounts, as_of=store.end).tolist() == decided(model, later)
    assert model.score(accounts, y, as_of=store.end) == (model.predict(accounts, as_of=store.end) == y).mean()
    assert model.cut_ == middle


def test_weight_0_is_leaving_out_and_weight_2_is_naming_twice(store: Store, examples: Any) -> None:
    """To the last bit: repeated accounts are one example of more weight, and so in the same batch."""
    accounts, y = examples
    weights = np.arange(len(y)) % 3
    rows = np.repeat(np.arange(len(y)), weights)
    model = GTEAClassifier(store, **QUICK)
    weighed = model.fit(accounts, y, sample_weight=weights).predict_proba(accounts)
    np.testing.assert_array_equal(model.fit(accounts[rows], y[rows]).predict_proba(accounts), weighed)
    np.testing.assert_allclose(
        model.fit(accounts, y, sample_weight=weights * 1e30).predict_proba(accounts), weighed, rtol=1e-5
    )


def test_weights_that_are_all_alike_change_nothing(store: Store, fitted: GTEAClassifier, examples: Any) -> None:
    accounts, y = examples
    alike = GTEAClassifier(store, **QUICK).fit(accounts, y, sample_weight=pd.Series(np.full(len(y), 0.5)))
    np.testing.assert_array_equal(alike.predict_proba(accounts), fitted.predict_proba(accounts))


def test_calibration_passes_weights_on(store: Store, examples: Any) -> None:
    accounts, y = examples
    weights = np.arange(len(y)) % 2
    model = CalibratedClassifierCV(GTEAClassifier(store, **QUICK), cv=2).fit(accounts, y, sample_weight=weights)
    trained_on = [part.estimator.model_.saved.metrics["labels"]["accounts"] for part in model.calibrated_classifiers_]
    assert sum(trained_on) == weights.sum()


def test_weights_that_are_refused(store: Store, examples: Any) -> None:
    accounts, y = examples
    model = GTEAClassifier(store, **QUICK)
    for weights, message in (
        ([1.0], r"sample_weight: must hold one weight for each of 80 rows \(got shape \(1,\)\)"),
        (np.full(80, -1), r"sample_weight: must be 0 or more, and finite \(got -1\.0\)"),
        (np.full(80, np.nan), r"sample_weight: must be 0 or more, and finite \(got nan\)"),
        (np.zeros(80), r"sample_weight: must not be 0 for all rows"),
        (["much"] * 80, r"sample_weight: must be numbers"),
        ((y == y[0]).astype(int), r"labels: must be of at least two classes"),
    ):
        with pytest.raises(DataError, match=message):
            model.fit(accounts, y, sample_weight=weights)


def test_embeddings_feed_a_pipeline(store: Store, examples: Any) -> None:
    accounts, y = examples
    pipeline = make_pipeline(GTEAClassifier(store, **QUICK), StandardScaler(), LogisticRegression())
    assert np.isfinite(cross_val_score(pipeline, accounts, y, cv=2, error_score="raise")).all()
    pipeline.fit(accounts, y, gteaclassifier__sample_weight=np.ones(len(y)))
    assert pipeline.predict_proba(accounts[:5]).shape == (5, 2)
    assert pipeline[:2].get_feature_names_out().tolist() == [f"gteaclassifier{i}" for i in range(6)]


def test_accounts_that_are_refused(fitted: GTEAClassifier, examples: Any) -> None:
    with pytest.raises(DataError, match=r"every account must be in s \(got 1 that are not: 'nobody'\)"):
        fitted.predict([examples[0][0], "nobody", "nobody"])
    with pytest.raises(DataError, match=r"one column of ids, not empty \(got shape \(1, 2\)\)"):
        fitted.predict([list(examples[0][:2])])
    with pytest.raises(DataError, match=r"ids must be text or whole numbers \(got 1\.5\)"):
        fitted.predict([1.5])


def test_labels_that_are_refused(store: Store, examples: Any) -> None:
    accounts, y = examples
    model = GTEAClassifier(store, **QUICK)
    with pytest.raises(DataError, match=r"one label for each of 80 accounts \(got shape \(79,\)\)"):
        model.fit(accounts, y[1:])
    with pytest.raises(DataError, match="at least two classes"):
        model.fit(accounts, np.zeros(80, int))
    with pytest.raises(DataError, match="classes, not continuous values"):
        model.fit(accounts, np.linspace(0, 1, 80))
    with pytest.raises(DataError, match="labels must have one type"):
        model.fit(accounts, np.array(["a", None] * 40, dtype=object))
    with pytest.raises(DataError, match="an account may have one label"):
        model.fit([accounts[0], accounts[0], accounts[1]], ["a", "b", "a"])


def test_settings_that_are_refused(store: Store, examples: Any) -> None:
    with pytest.raises(UsageError, match=r"model\.encoder must be one of"):
        GTEAClassifier(store, encoder="lstn").fit(*examples)
    with pytest.raises(UsageError, match="validation_fraction: must be above 0 and below 1"):
        GTEAClassifier(store, validation_fraction=1).fit(*examples)
    with pytest.raises(NotFittedError):
        GTEAClassifier(store).predict(examples[0])
    with pytest.raises(UsageError, match=r"graph: must be a store or its path \(got None\)"):
        GTEAClassifier(None).fit(*examples)  # type: ignore[arg-type]


def test_a_score_is_explained(fitted: GTEAClassifier, examples: Any) -> None:
    account = examples[0][0]
    found = fitted.explain(account)
    column = fitted.classes_.tolist().index(found.label)
    assert found.score == pytest.approx(fitted.predict_proba([account])[0, column], abs=1e-6)
    assert {each.account for each in found.counterparties} == set(fitted.attention_weights(account))
