"""scikit-learn's own checks, where they apply; and with real accounts what they ask of estimators that fit numbers."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

from gtea.estimators.classifier import GTEAClassifier
from gtea.estimators.link_predictor import GTEALinkPredictor
from gtea.store.store import Store
from gtea.tasks.link_examples import link_examples

APPLY = {
    "check_decision_proba_consistency",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_estimators_partial_fit_n_features",
    "check_estimators_unfitted",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_non_transformer_estimators_n_iter",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_transformer_n_iter",
    "check_transformers_unfitted",
    "check_valid_tag_types",
}
"""The others fit a matrix of numbers, where an example is an account of a store; what they ask for is below. Not asked
for: learning from one class (it is refused), sparse matrices of ids, and pickle (a model is a folder that can't run
code)."""


def checks() -> list[Any]:
    estimators = [GTEAClassifier("no.store"), GTEALinkPredictor("no.store")]
    found = [pair for estimator in estimators for pair in estimator_checks_generator(estimator)]
    return [
        pytest.param(check, estimator, id=f"{type(estimator).__name__}-{check.func.__name__}")
        for estimator, check in found
        if check.func.__name__ in APPLY
    ]


def test_there_are_such_checks() -> None:
    assert {check.values[0].func.__name__ for check in checks()} == APPLY


@pytest.mark.parametrize(("check", "estimator"), checks())
def test_checks_of_scikit_learn(check: Any, estimator: Any) -> None:
    check(estimator)


@pytest.fixture(params=[GTEAClassifier, GTEALinkPredictor], ids=lambda kind: kind.__name__)
def case(request: pytest.FixtureRequest, store: Store, examples: Any) -> tuple[Any, Any, Any]:
    """An estimator, and examples and labels to fit it on."""
    small = {"d_node": 6, "d_edge": 4, "fanout": 3, "max_events": 4, "epochs": 1, "device": "cpu"}
    middle = int(np.median(store.arrays.event_time))
    x, y = examples if request.param is GTEAClassifier else link_examples(store, as_of=middle)
    return request.param(store, as_of=middle, **small), x, y


def test_fit_returns_itself_and_leaves_the_parameters_alone(case: Any) -> None:
    estimator, x, y = case
    before = copy.copy(estimator.get_params())
    assert estimator.fit(x, y) is estimator
    assert estimator.get_params() == before
    own = {name for name in vars(estimator) if name not in before}
    assert all(name.endswith("_") for name in own)


def test_predicting_changes_nothing_and_fitting_again_gives_the_same(case: Any) -> None:
    estimator, x, y = case
    first = estimator.fit(x, y).predict_proba(x)
    before = dict(vars(estimator))
    np.testing.assert_array_equal(estimator.predict_proba(x), first)
    assert {name: id(value) for name, value in vars(estimator).items()} == {n: id(v) for n, v in before.items()}
    np.testing.assert_array_equal(estimator.fit(x, y).predict_proba(x), first)
    np.testing.assert_array_equal(clone(estimator).fit(x, y).predict_proba(x), first)


def test_an_answer_does_not_depend_on_what_else_is_asked(case: Any) -> None:
    estimator, x, y = case
    whole = estimator.fit(x, y).predict_proba(x)
    order = np.random.default_rng(0).permutation(len(y))
    np.testing.assert_allclose(estimator.predict_proba(x[order]), whole[order], atol=1e-6)
    alone = [estimator.predict_proba(x[i : i + 1])[0] for i in range(5)]
    np.testing.assert_allclose(alone, whole[:5], atol=1e-6)


def test_frozen_inputs_stay_as_they_are(case: Any) -> None:
    estimator, x, y = case
    weights = np.ones(len(y))
    for array in (x, y, weights):
        array.setflags(write=False)
    estimator.fit(x, y, sample_weight=weights)
    assert (weights == 1).all()
