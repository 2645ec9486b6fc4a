from __future__ import annotations

import dataclasses
import re

import numpy as np
from tests.report.hostile_ids import HOSTILE
from tests.report.made_up import busy_store, explained, made_up_case

from gtea.features.neighbour_labels import neighbour_labels_of
from gtea.report.case import Case, case_of
from gtea.report.case_page import Place, render_case
from gtea.report.known_labels import KnownLabels
from gtea.store.memory import store_in_memory


def test_the_page_has_every_part(busy_case: Case) -> None:
    page = render_case(busy_case, Place(3, 200, 3), ["files/003/ego.csv"])
    for title in (
        "Who pays, who is paid",
        "Does the explanation hold?",
        "When it happens",
        "The evidence, pair by pair",
    ):
        assert title in page
    assert page.count('<tr class="row"') == 40
    assert 'href="002.html"' in page
    assert 'href="004.html"' in page
    assert "Case 3 of 200" in page
    assert "gtea explain phishing.model payments.store" in page
    assert '<a href="files/003/ego.csv">ego.csv</a>' in page
    assert "http" not in re.sub(r"http-equiv|http://www.w3.org/2000/svg", "", page)


def test_a_page_alone_has_no_way_to_others(busy_case: Case) -> None:
    page = render_case(busy_case)
    assert "index.html" not in page
    assert ">Files<" not in page


def test_labels_that_the_model_knows_are_tagged() -> None:
    store = busy_store(12)
    nodes = np.arange(store.num_nodes)
    labels = KnownLabels(store, neighbour_labels_of(store, nodes, nodes % 2, ("licit", "illicit")))
    page = render_case(case_of(made_up_case(store).common, labels, explained(store), store, 1))
    assert '<span class="tag positive">illicit</span>' in page
    assert '<span class="tag">licit</span>' in page
    assert 'class="contact known"' in page


def test_steps_have_no_weekdays_and_models_without_attention_no_weights() -> None:
    store = store_in_memory(["me", "a", "b"], ["a", "me", "me"], [1, 2, 3], unit="step")
    explanation = explained(store)
    bare = tuple(dataclasses.replace(each, weight=None) for each in explanation.counterparties)
    explanation = dataclasses.replace(explanation, counterparties=bare)
    page = render_case(case_of(made_up_case(store).common, KnownLabels(store, None), explanation, store, 1))
    assert "When it happens" not in page
    assert "share of all effects" in page
    assert '<td class="weight">\N{EN DASH}</td>' in page


def test_no_page_is_larger_than_a_megabyte() -> None:
    names = [f"{place}{'<' * 600}" for place in range(1_500)]
    assert len(render_case(made_up_case(busy_store(names=names))).encode()) < 1_000_000


def test_hostile_ids_are_text() -> None:
    page = render_case(made_up_case(busy_store(names=HOSTILE)))
    body = page[page.index("<body>") :]
    assert body.count("<script") == 2
    assert "<img" not in body
    assert "49" not in re.findall(r"\{\{[^}]*\}\}", body)
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\u202a-\u202e\u2066-\u2069]", page)
