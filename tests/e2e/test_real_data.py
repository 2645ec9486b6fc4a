"""The real data sets, through the command line, against the counts their README gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gtea.datasets.catalog import dataset
from gtea.datasets.copies import require_copy

# Nodes, edges, events and self-loops of each, as the README of the copies says.
SETS: dict[str, tuple[int, int, int, int]] = {
    "ethereum_phishing": (104_001, 149_408, 516_134, 158),
    "wikipedia": (9_227, 18_257, 157_474, 0),
    "mooc": (7_144, 178_443, 411_749, 0),
    "email_eu": (986, 16_064, 332_334, 0),
    "bitcoin_otc": (5_881, 21_492, 35_592, 0),
    "primary_school": (242, 8_317, 125_773, 0),
    "amlsim": (19_980, 117_021, 120_543, 15),
    "mathoverflow": (24_818, 187_986, 390_441, 116_109),
}
DIRECTED = {
    "ethereum_phishing": 158_306,
    "email_eu": 24_929,
    "bitcoin_otc": 35_592,
    "amlsim": 117_341,
    "mathoverflow": 239_978,
}


def as_words(option: str, value: str | list[str]) -> tuple[str, str]:
    return f"--{option.replace('_', '-')}", value if isinstance(value, str) else ",".join(value)


def counted(gtea: Callable[..., Any], folder: Path, name: str, out: Path, *more: str) -> dict[str, Any]:
    copy = require_copy(dataset(name), folder)
    options = [word for option in copy.layout.options.items() for word in as_words(*option)]
    outcome = gtea("ingest", copy.events, *options, *more, "--out", out, "--json")
    assert outcome.code == 0, outcome.err
    facts: dict[str, Any] = json.loads(outcome.out)
    return facts


@pytest.mark.parametrize("name", SETS)
def test_counts_are_those_of_the_readme(gtea: Callable[..., Any], data_folder: Path, tmp_path: Path, name: str) -> None:
    facts = counted(gtea, data_folder, name, tmp_path / "s")
    nodes, edges, events, self_loops = SETS[name]
    assert (facts["nodes"], facts["edges"], facts["events"], facts["self_loops"]) == (nodes, edges, events, self_loops)
    assert facts["data_report"]["rows_in"] == events + self_loops == dataset(name).rows
    assert gtea("verify", tmp_path / "s").code == 0


@pytest.mark.parametrize("name", DIRECTED)
def test_ordered_pairs_of_directed_stores(
    gtea: Callable[..., Any], data_folder: Path, tmp_path: Path, name: str
) -> None:
    """Two data sets' directed counts include self-loops; their README says how many rows those are."""
    facts = counted(gtea, data_folder, name, tmp_path / "s", "--directed", "--self-loops", "keep")
    assert facts["edges"] == DIRECTED[name]
