"""The paper's own numbers."""

from __future__ import annotations

import tomllib
from importlib.resources import files

from gtea.experiments.paper.paper_results import TABLE1_MODELS, paper_column


def test_the_papers_numbers() -> None:
    """Each column has all eleven models, and its best where the paper prints it in red."""
    best = {"ethereum_phishing": "gtea-tx", "wikipedia": "gtea-l+t", "reddit": "gtea-tx", "payments": "gtea-l+t"}
    assert set(
        tomllib.loads(files("gtea.experiments.paper").joinpath("paper.toml").read_text(encoding="utf-8"))
    ) == set(best)
    for data, model in best.items():
        column = paper_column(data)
        assert column is not None
        assert set(column.accuracy) == set(column.macro_f1) == set(TABLE1_MODELS)
        assert max(TABLE1_MODELS, key=lambda name: column.accuracy[name]) == model
        assert all(0.4 < value < 1 for value in (*column.accuracy.values(), *column.macro_f1.values()))
        assert column.same == (data != "payments")
    assert paper_column("amlsim") is None
