"""The data sets that gtea knows by name."""

from __future__ import annotations

import pytest

from gtea.datasets.catalog import DATASETS, dataset
from gtea.errors import UsageError


def test_every_set_says_what_it_is_and_how_it_is_read() -> None:
    for name, each in DATASETS.items():
        assert each.name == name
        assert (each.task == "nodes") == (each.labels is not None)
        assert each.about
        assert each.licence
        assert each.rows > 0
        assert each.url is None or each.url.startswith("https://")
        assert len(each.files) == 1 + (each.labels is not None)
        for layout in each.layouts:
            assert layout.files
            assert layout.options.get("format") in ("jodie", "snap") or len(layout.columns) >= 3


def test_a_misspelt_name_has_a_suggestion() -> None:
    assert dataset("mooc") is DATASETS["mooc"]
    with pytest.raises(UsageError, match=r"moocs: is not a known data set\. Did you mean 'mooc'\?"):
        dataset("moocs")
    with pytest.raises(UsageError, match="Available: wikipedia, reddit"):
        dataset("x")
