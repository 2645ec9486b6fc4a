"""No pickle, anywhere: not in our code, and not by the back door of libraries that pickle."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
CALLS = {("torch", "save"), ("torch", "load"), ("np", "load"), ("numpy", "load"), ("pd", "read_pickle")}


def test_no_file_of_ours_pickles() -> None:
    files = [path for folder in ("src", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")]
    assert len(files) > 20
    found = []
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            names: set[str] = set()
            if isinstance(node, ast.Import):
                names = {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names = {(node.module or "").split(".")[0]}
            if names & MODULES:
                found.append(f"{path}: {names & MODULES}")
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and (node.value.id, node.attr) in CALLS
            ):
                found.append(f"{path}:{node.lineno}: {node.value.id}.{node.attr}")
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                found.append(f"{path}:{node.value.lineno}: allow_pickle")
    assert found == []
