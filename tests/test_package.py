"""The face of the package: names, exit codes, and that importing it is cheap."""

from __future__ import annotations

import subprocess
import sys

import pytest

import gtea


def test_exported_names_are_these() -> None:
    estimators, stores = ["GTEAClassifier", "GTEALinkPredictor"], ["Store", "View", "append", "ingest"]
    assert sorted(gtea.__all__) == [*estimators, "LiveScorer", *stores, "link_examples", "load", "open", "to_pyg"]
    for name in gtea.__all__:
        assert callable(getattr(gtea, name))
    assert str(gtea.__version__).count(".") == 2
    with pytest.raises(AttributeError, match="has no attribute 'frobnicate'"):
        _ = gtea.frobnicate


@pytest.mark.parametrize(
    ("statement", "forbidden"),
    [
        ("import gtea", {"numpy", "torch", "duckdb", "pyarrow"}),
        ("from gtea.ingestion.ingest import ingest", {"torch", "pandas"}),
        ("import gtea; gtea.open", {"numpy"}),
    ],
)
def test_importing_is_cheap(statement: str, forbidden: set[str]) -> None:
    command = [sys.executable, "-c", f"import sys; {statement}; print(*sys.modules)"]
    loaded = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert not loaded & forbidden
