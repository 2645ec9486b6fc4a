"""The check of gtea doctor --on."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.conftest import Case, InThisProcess

from gtea.cluster.job_array import JobArray
from gtea.cluster.local_pool import LocalPool
from gtea.cluster.node_check import check_nodes
from gtea.cluster.node_facts import node_facts


def test_a_node_like_this_one_has_no_problems(plain_case: Case, tmp_path: Path) -> None:
    (node,) = check_nodes(InThisProcess(), tmp_path / "check", plain_case.store)
    assert node["problems"] == []
    assert node["facts"]["gtea"]
    assert not list((tmp_path / "check").glob("*.part"))


def test_another_version_is_a_problem(plain_case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gtea.cluster.node_check.node_facts", lambda: {"torch": "1.0"})
    (node,) = check_nodes(InThisProcess(), tmp_path, plain_case.store)
    assert any(problem.startswith("torch ") for problem in node["problems"])


def test_another_instruction_set_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that computes without the vector instructions of this one."""
    node_facts()
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")
    (node,) = check_nodes(LocalPool(1), tmp_path, None)
    assert [problem.split(" instead")[0] for problem in node["problems"]] == ["instruction set DEFAULT"]


def test_the_jobs_of_an_array_wait_for_each_other(tmp_path: Path) -> None:
    found: dict[int, list[dict[str, Any]]] = {}

    def check(number: int) -> None:
        found[number] = check_nodes(JobArray(number, 2), tmp_path, None)

    threads = [threading.Thread(target=check, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert [len(nodes) for nodes in found.values()] == [2, 2]
    assert all(not node["problems"] for nodes in found.values() for node in nodes)
