"""GTEALinkPredictor, alone and in scikit-learn's hands."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score

import gtea as package
from gtea.config import ModelConfig
from gtea.errors import DataError, UsageError
from gtea.estimators.link_predictor import GTEALinkPredictor
from gtea.ingestion.ingest import ingest
from gtea.models.registry import BASELINES, default_config
from gtea.store.store import Store
from gtea.tasks.link_examples import link_examples

USERS, ITEMS, CUT = 24, 10, 500
QUICK: dict[str, Any] = {
    "d_node": 6, "d_edge": 4, "fanout": 3, "max_events": 4, "batch_size": 32, "epochs": 1, "lr": 0.01, "device": "cpu",
}  # fmt: skip


def visits(seed: int = 0, events: int = 800) -> list[tuple[str, str, int, float]]:
    """Each user goes on to visit the same three items, now and then another one."""
    rng = np.random.default_rng(seed)
    rows = []
    for time in range(events):
        user = int(rng.integers(USERS))
        item = (user + 3 * int(rng.integers(3))) % ITEMS if rng.random() < 0.95 else int(rng.integers(ITEMS))
        rows.append((f"u{user:02}", f"i{item}", time, float(rng.normal())))
    return rows


def stored(rows: list[tuple[str, str, int, float]], out: Path) -> Store:
    table = pa.table(dict(zip(("src", "dst", "time", "amount"), map(list, zip(*rows, strict=True)), strict=True)))
    return ingest(table, src="src", dst="dst", time="time", features=["amount"], time_unit="step", out=out)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stored(visits(), tmp_path_factory.mktemp("shop") / "s")


@pytest.fixture(scope="module")
def pairs(shop: Store) -> tuple[Any, Any]:
    return link_examples(shop, as_of=CUT)


@pytest.fixture(scope="module")
def fitted(shop: Store, pairs: Any) -> GTEALinkPredictor:
    return GTEALinkPredictor(shop, as_of=CUT, link_head="pair", **QUICK).fit(*pairs)


def decided(model: GTEALinkPredictor, chances: Any) -> list[int]:
    threshold = model.model_.threshold
    assert threshold is not None
    return [int(row[1] >= threshold.value) for row in chances]


def test_probabilities_and_labels(fitted: GTEALinkPredictor, pairs: Any) -> None:
    examples, y = pairs
    chances = fitted.predict_proba(examples)
    assert chances.shape == (len(y), 2)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert fitted.classes_.tolist() == [0, 1]
    assert fitted.predict(examples).tolist() == decided(fitted, chances)
    assert fitted.score(examples, y) == (fitted.predict(examples) == y).mean()
    assert is_classifier(fitted)
    assert fitted.n_features_in_ == 2
    assert fitted.cut_ == CUT


def test_habits_are_learnt_and_hold_for_pairs_not_trained_on(shop: Store, pairs: Any) -> None:
    """Trained on half of the pairs: those who met meet again, in the other half too."""
    examples, y = pairs
    order = np.random.default_rng(0).permutation(len(y))
    known, asked = order[::2], order[1::2]
    larger = {**QUICK, "d_node": 8, "d_edge": 8, "max_events": 8, "batch_size": 8, "epochs": 6, "lr": 0.02}
    model = GTEALinkPredictor(shop, as_of=CUT, link_head="pair", **larger).fit(examples[known], y[known])
    assert roc_auc_score(y[asked], model.predict_proba(examples[asked])[:, 1]) > 0.9


def test_the_order_of_the_rows_changes_nothing_and_the_seed_does(
    shop: Store, fitted: GTEALinkPredictor, pairs: Any
) -> None:
    examples, y = pairs
    expected = fitted.predict_proba(examples)
    again = GTEALinkPredictor(str(shop.path), as_of=str(CUT), link_head="pair", **QUICK)
    again.fit([tuple(pair) for pair in examples[::-1]], list(y[::-1]))
    np.testing.assert_array_equal(again.predict_proba(examples), expected)
    other = GTEALinkPredictor(shop, as_of=CUT, link_head="pair", random_state=1, **QUICK).fit(examples, y)
    assert (other.predict_proba(examples) != expected).any()


def test_nothing_from_the_cut_on_is_seen(pairs: Any, fitted: GTEALinkPredictor, tmp_path: Path) -> None:
    """Other partners, other amounts and accounts never heard of, from the cut on: the same model to the last bit."""
    later = [("a", f"i{time % 7}", time, 1e6) if time % 2 else ("zz", "u00", time, -1e6) for time in range(CUT, 900)]
    other = stored([*visits()[:CUT], *later], tmp_path / "s")
    model = GTEALinkPredictor(other, as_of=CUT, link_head="pair", **QUICK).fit(*pairs)
    assert model.model_.saved.metrics == fitted.model_.saved.metrics
    np.testing.assert_array_equal(model.predict_proba(pairs[0]), fitted.predict_proba(pairs[0]))


@pytest.mark.parametrize(
    "kind",
    [
        lambda ends: [tuple(pair) for pair in ends],
        lambda ends: pd.DataFrame(ends, columns=["from", "to"]).iloc[:],
        lambda ends: pl.DataFrame({"from": ends[:, 0], "to": ends[:, 1]}),
        lambda ends: pa.table({"from": list(ends[:, 0]), "to": list(ends[:, 1])}),
        lambda ends: ends.astype(str),
    ],
    ids=["list", "pandas", "polars", "pyarrow", "text"],
)
def test_pairs_of_every_kind(fitted: GTEALinkPredictor, pairs: Any, kind: Callable[..., Any]) -> None:
    ends = pairs[0][:6]
    np.testing.assert_array_equal(fitted.predict_proba(kind(ends)), fitted.predict_proba(ends))


def test_ids_that_are_numbers(tmp_path: Path) -> None:
    rows = [(str(int(src[1:])), str(100 + int(dst[1:])), time, amount) for src, dst, time, amount in visits()]
    store = stored(rows, tmp_path / "s")
    examples, y = link_examples(store, as_of=CUT)
    model = GTEALinkPredictor(store, as_of=CUT, **QUICK).fit(pd.DataFrame(examples.astype(int)), pd.Series(y))
    np.testing.assert_array_equal(model.predict_proba(examples.astype(int)), model.predict_proba(examples))


def test_as_of_is_the_estimators_unless_a_call_names_another(fitted: GTEALinkPredictor, pairs: Any) -> None:
    examples, y = pairs
    own = fitted.predict_proba(examples)
    np.testing.assert_array_equal(fitted.predict_proba(examples, as_of=CUT), own)
    later = fitted.predict_proba(examples, as_of="800")
    assert (later != own).any()
    assert fitted.cut_ == CUT
    assert fitted.predict(examples, as_of=800).tolist() == decided(fitted, later)
    assert fitted.score(examples, y, as_of=800) == (fitted.predict(examples, as_of=800) == y).mean()


def test_cross_validation(shop: Store, pairs: Any) -> None:
    model = GTEALinkPredictor(shop, as_of=CUT, **QUICK)
    scores = cross_val_score(model, *pairs, cv=2, scoring="roc_auc", error_score="raise")
    assert np.isfinite(scores).all()
    frame = pd.DataFrame(pairs[0], columns=["from", "to"])
    np.testing.assert_array_equal(cross_val_score(model, frame, pairs[1], cv=2, scoring="roc_auc"), scores)


def test_grid_search(shop: Store, pairs: Any) -> None:
    grid = {"link_head": ["dot", "pair"], "lr": np.array([0.01])}
    search = GridSearchCV(GTEALinkPredictor(shop, as_of=CUT, **QUICK), grid, cv=2, error_score="raise").fit(*pairs)
    assert search.best_params_["link_head"] in ("dot", "pair")
    assert search.best_estimator_.graph is shop


@pytest.mark.parametrize("ensemble", [True, False])
def test_calibration(shop: Store, pairs: Any, ensemble: bool) -> None:
    examples, y = pairs
    model = CalibratedClassifierCV(GTEALinkPredictor(shop, as_of=CUT, **QUICK), cv=2, ensemble=ensemble)
    model.fit(examples, y, sample_weight=np.where(y == 1, 1.0, 2.0))
    np.testing.assert_allclose(model.predict_proba(examples).sum(axis=1), 1)


def test_cloning_shares_the_store(shop: Store) -> None:
    estimator = GTEALinkPredictor(shop, link_head="pair")
    assert clone(estimator).graph is shop
    assert clone(estimator).get_params() == estimator.get_params()


@pytest.mark.parametrize(
    ("name", "head", "settings"),
    [
        ("hybrid", None, {"model.dropout": 0.2, "split.train_windows": 2}),
        ("hybrid", "dot", {"model.node_limit": 1.5}),
        ("gtea", "pair", {"model.dropout": 0.2}),
        ("tree", None, {"features.pair_statistics": True}),
        ("strong-tree", None, {"features.recency": False}),
    ],
)
def test_what_was_loaded_trains_as_it_was_trained(
    shop: Store, tmp_path: Path, name: str, head: str | None, settings: dict[str, Any]
) -> None:
    model = GTEALinkPredictor(shop, model=name, link_head=head, settings=settings, **QUICK).fit_store()
    model.save(tmp_path / "m")
    again = clone(package.load(tmp_path / "m", shop, device="cpu")).fit_store()
    examples = [["u01", "i1"], ["u02", "i1"], ["u03", "i6"]]
    np.testing.assert_array_equal(again.predict_proba(examples), model.predict_proba(examples))
    assert again.model_.config == model.model_.config
    assert (again.model, again.settings) == (name, settings)
    assert GTEALinkPredictor(shop, model=name, link_head=head, **QUICK)._config() != model.model_.config


def test_a_pair_named_twice_counts_twice_and_one_of_weight_0_not_at_all(shop: Store, pairs: Any) -> None:
    examples, y = pairs
    weights = np.arange(len(y)) % 3
    rows = np.repeat(np.arange(len(y)), weights)
    model = GTEALinkPredictor(shop, as_of=CUT, **QUICK)
    weighed = clone(model).fit(examples, y, sample_weight=weights).predict_proba(examples)
    np.testing.assert_array_equal(clone(model).fit(examples[rows], y[rows]).predict_proba(examples), weighed)
    assert (model.fit(examples, y).predict_proba(examples) != weighed).any()


@pytest.mark.parametrize("labels", [np.array([False, True]), np.array(["no", "yes"]), np.array([3, 7])])
def test_a_saved_model_gives_the_same_answers(shop: Store, pairs: Any, tmp_path: Path, labels: Any) -> None:
    examples, y = pairs
    model = GTEALinkPredictor(shop, as_of=CUT, link_head="ordered_pair", **QUICK).fit(examples, labels[y])
    assert set(model.predict(examples)) <= set(labels)
    model.save(tmp_path / "m")
    loaded = package.load(tmp_path / "m", shop, as_of=CUT, device="cpu")
    assert isinstance(loaded, GTEALinkPredictor)
    np.testing.assert_array_equal(loaded.predict_proba(examples), model.predict_proba(examples))
    np.testing.assert_array_equal(loaded.predict(examples), model.predict(examples))
    assert loaded.classes_.dtype.kind == labels.dtype.kind
    given = {name: value for name, value in model.get_params().items() if value is not None}
    assert {name: loaded.get_params()[name] for name in given} == given
    assert loaded._config() == model._config()
    card = (tmp_path / "m" / "MODEL_CARD.md").read_text()
    assert f"scores are the probability of {str(labels[1])!r}" in card
    with pytest.raises(UsageError, match=r"m: exists\. Choose another path\."):
        model.save(tmp_path / "m")


def test_the_command_line_scores_with_it(
    gtea: Callable[..., Any], shop: Store, fitted: GTEALinkPredictor, pairs: Any, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "m")
    pd.DataFrame(pairs[0][:20], columns=["src", "dst"]).to_csv(tmp_path / "pairs.csv", index=False)
    words = ("--pairs", tmp_path / "pairs.csv", "--as-of", CUT, "--out", tmp_path / "scores.csv", "--device", "cpu")
    outcome = gtea("score", tmp_path / "m", shop.path, *words)
    assert outcome.code == 0, outcome.err
    with (tmp_path / "scores.csv").open(newline="") as stream:
        rows = {(row["src"], row["dst"]): float(row["score"]) for row in csv.DictReader(stream)}
    expected = fitted.predict_proba(pairs[0][:20])[:, 1]
    np.testing.assert_allclose([rows[tuple(pair)] for pair in pairs[0][:20]], expected, rtol=1e-6)


def test_fit_store_is_gtea_train(gtea: Callable[..., Any], shop: Store, pairs: Any, tmp_path: Path) -> None:
    """The same settings give the same weights, byte for byte, and both folders open alike."""
    model = GTEALinkPredictor(shop, as_of=700, **QUICK).fit_store(graph_until=300)
    model.save(tmp_path / "a")
    settings = ["model.d_node=6", "model.d_edge=4", "sampling.fanout=3", "sampling.max_events=4", "train.lr=0.01"]
    words = [word for line in [*settings, "sampling.batch_size=32", "train.epochs=1"] for word in ("--set", line)]
    cuts = ("--graph-until", 300, "--as-of", 700, "--device", "cpu")
    outcome = gtea("train", shop.path, "--task", "links", *cuts, *words, "--out", tmp_path / "b")
    assert outcome.code == 0, outcome.err
    digests = {hashlib.sha256((tmp_path / name / "model.safetensors").read_bytes()).digest() for name in "ab"}
    assert len(digests) == 1
    assert model.cut_ == 700
    assert model.classes_.tolist() == [0, 1]
    assert 0 <= model.model_.saved.metrics["test"]["roc_auc"] <= 1
    loaded = package.load(tmp_path / "b", shop, as_of=700, device="cpu")
    np.testing.assert_array_equal(loaded.predict_proba(pairs[0]), model.predict_proba(pairs[0]))


def test_every_model_is_trained_by_its_name(shop: Store, pairs: Any) -> None:
    for name in ("hybrid", "gtea", *BASELINES):
        model = GTEALinkPredictor(shop, as_of=CUT, model=name, **{**QUICK, "d_node": 8}).fit(*pairs)
        assert model.model_.config.model.family == name
        assert np.isfinite(model.predict_proba(pairs[0])).all()


def test_parameters_that_are_not_given_have_the_models_defaults(shop: Store) -> None:
    for name in ("hybrid", "gtea", "gcn", "edgebank"):
        config = GTEALinkPredictor(shop, model=name)._config()
        assert config == default_config(ModelConfig(family=name), "links")
    assert GTEALinkPredictor(shop)._config().model.link_head == "ordered_pair"
    assert GTEALinkPredictor(shop, link_head="dot")._config().model.link_head == "dot"


def test_pairs_that_are_refused(shop: Store, fitted: GTEALinkPredictor, pairs: Any) -> None:
    with pytest.raises(DataError, match=r"pairs: every account must be in s \(got 1 that are not: 'nobody'\)"):
        fitted.predict([("u00", "i0"), ("nobody", "i0")])
    with pytest.raises(DataError, match=r"pairs: must be two columns of ids, from and to, not empty \(got shape"):
        fitted.predict(["u00", "i0"])
    with pytest.raises(DataError, match=r"pairs: ids must be text or whole numbers \(got nan\)"):
        fitted.predict([("u00", float("nan"))])
    with pytest.raises(NotFittedError):
        GTEALinkPredictor(shop).predict(pairs[0])
    with pytest.raises(UsageError, match=r"model\.link_head must be one of"):
        GTEALinkPredictor(shop, link_head="dots").fit(*pairs)


def test_labels_that_are_refused(shop: Store, pairs: Any) -> None:
    examples, y = pairs
    model = GTEALinkPredictor(shop, as_of=CUT, **QUICK)
    with pytest.raises(DataError, match=r"y: must be of two classes, no link and link \(got 1: 0\)"):
        model.fit(examples, np.zeros(len(y), int))
    with pytest.raises(DataError, match=r"y: must be of two classes, no link and link \(got 3: 0, 1, 2\)"):
        model.fit(examples, np.arange(len(y)) % 3)
    with pytest.raises(DataError, match=r"y: a pair may have one label \(got 1 with rows that disagree: 'u00' to 'i0'"):
        model.fit([("u00", "i0"), ("u00", "i0"), ("u01", "i1")], [0, 1, 1])
    with pytest.raises(DataError, match=r"at least 2 pairs of every class \(got 1 of '1'\)"):
        model.fit([("u00", "i0"), ("u00", "i1"), ("u01", "i1")], [0, 0, 1])
    with pytest.raises(DataError, match=r"whose accounts have events before 0 \(got none\)"):
        GTEALinkPredictor(shop, as_of=0, **QUICK).fit(examples, y)


def test_a_pair_is_explained(fitted: GTEALinkPredictor) -> None:
    found = fitted.explain("u00", "i0")
    (score,) = fitted.predict_proba([("u00", "i0")])[:, 1]
    assert found.score == pytest.approx(score, abs=1e-6)
    assert {each.end for each in found.counterparties} == {"u00", "i0"}
    assert fitted.explain("u00", "i0", as_of=100).cut == 100
