"""Nodes that would give other bytes are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from gtea.cluster.node_facts import differences, inspect_node, node_facts, require_same_node
from gtea.errors import UsageError


def test_this_node_is_like_itself() -> None:
    require_same_node(node_facts())
    assert {"gtea", "torch", "numpy", "instruction set", "kernels", "python"} <= node_facts().keys()


def test_another_instruction_set_or_version_is_refused() -> None:
    for name in ("instruction set", "torch", "kernels"):
        with pytest.raises(UsageError, match=rf"must be like the node that began the job .different: {name}"):
            require_same_node({**node_facts(), name: "another"})


def test_differences_are_told_in_words() -> None:
    assert differences({"a": "1", "b": "2"}, {"a": "1", "c": "3"}) == ["b none instead of 2", "c 3 instead of none"]


def test_a_node_says_what_it_can_reach(tmp_path: Path) -> None:
    _, facts = inspect_node(tmp_path, {"store": str(tmp_path / "none.store")})
    assert facts["folder"] is True
    assert "none.store" in facts["store"]
