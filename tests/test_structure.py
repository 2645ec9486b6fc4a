"""The shape of the source: one test file a module, one name a thing, and nothing public that nobody else uses."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE, TESTS = ROOT / "src" / "gtea", ROOT / "tests"
FOLDERS = ("src", "tests", "benchmarks", "examples", "tools", "kernels/src")

COVERED_ELSEWHERE = {
    "__main__.py": "training/test_process_group.py",
    "datasets/payments_patterns.py": "datasets/test_payments.py",
    "experiments/drawing.py": "experiments/tune/test_search_figure.py",
    "experiments/paper/ablation_figure.py": "experiments/paper/test_ablation.py",
    "experiments/paper/attention_figure.py": "experiments/paper/test_attention.py",
    "experiments/paper/attention_page.py": "experiments/paper/test_attention.py",
    "experiments/paper/experiment.py": "experiments/paper/test_table1.py",
    "experiments/paper/rows.py": "experiments/paper/test_page.py",
    "experiments/paper/table1_figure.py": "experiments/paper/test_table1.py",
    "experiments/runs/run_job.py": "experiments/runs/test_jobs.py",
    "experiments/tune/trial_run.py": "experiments/tune/test_search.py",
    "experiments/tune/search_record.py": "experiments/tune/test_search.py",
    "experiments/tune/tpe.py": "experiments/tune/test_proposals.py",
    "ingestion/adjacency.py": "properties/test_store_properties.py",
    "ingestion/build.py": "ingestion/test_ingest.py",
    "ingestion/ingest_request.py": "ingestion/test_ingest.py",
    "ingestion/ledger.py": "ingestion/test_ingest.py",
    "ingestion/merge.py": "ingestion/test_append.py",
    "ingestion/node_table.py": "ingestion/test_ingest.py",
    "ingestion/staging.py": "ingestion/test_ingest.py",
    "runtime/progress.py": "scoring/test_scorer.py",
    "scoring/edge_pass.py": "scoring/test_exact.py",
    "store/layout.py": "test_docs.py",
    "training/fitted.py": "training/test_refit_trees.py",
}
"""Modules without a test file of their own, and the one that covers them. Keep it short."""


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def modules(*, with_cli: bool) -> list[Path]:
    paths = sorted(path for path in SOURCE.rglob("*.py") if path.name != "__init__.py")
    return [path for path in paths if with_cli or "cli" not in path.relative_to(SOURCE).parts]


def test_every_module_has_a_test_file() -> None:
    names = {str(path.relative_to(SOURCE)): path.relative_to(SOURCE) for path in modules(with_cli=False)}
    own = {name: TESTS / path.parent / f"test_{path.name}" for name, path in names.items()}
    assert [name for name, test in own.items() if not test.is_file() and name not in COVERED_ELSEWHERE] == []
    assert [name for name in COVERED_ELSEWHERE if name not in names or own[name].is_file()] == []
    assert [test for test in COVERED_ELSEWHERE.values() if not (TESTS / test).is_file()] == []
    assert len(COVERED_ELSEWHERE) <= 25


def test_no_two_modules_have_one_name() -> None:
    counted = Counter(path.stem for path in modules(with_cli=False))
    assert [name for name, count in counted.items() if count > 1] == []


def test_no_two_classes_have_one_name() -> None:
    found = defaultdict(list)
    for path in modules(with_cli=True):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(str(path.relative_to(SOURCE)))
    assert {name: where for name, where in found.items() if len(where) > 1} == {}


def test_what_only_its_module_uses_is_private() -> None:
    assert sorted(used_nowhere_else()) == []


def used_nowhere_else() -> Iterator[str]:
    """Public names of modules that no other file mentions; those of signatures may stay."""
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    mentions = Counter(name for path in files for name in mentioned(path))
    for path in modules(with_cli=False):
        own, in_signatures = mentioned(path), names_in_signatures(tree(path))
        for name in defined(tree(path)):
            elsewhere = mentions[name] - (name in own)
            if not elsewhere and not name.startswith("_") and name not in in_signatures:
                yield f"{path.relative_to(SOURCE)}: {name}"


@cache
def mentioned(path: Path) -> frozenset[str]:
    """Every name that a file uses or imports; what it merely defines does not count."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            found.add(node.value)  # for getattr and lazy imports
    return frozenset(found)


def defined(module: ast.Module) -> Iterator[str]:
    """The names that a module defines at its top level."""
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))


def names_in_signatures(module: ast.Module) -> set[str]:
    """Types that public functions, methods and fields speak of, and the bounds and parts of such types."""
    found: set[str] = set()
    public = [node for node in module.body if not getattr(node, "name", "").startswith("_")]
    for node in (part for top in public for part in ast.walk(top)):
        if isinstance(node, ast.FunctionDef):
            parts = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
            kinds = [node.returns, *(part.annotation for part in parts if part is not None)]
        elif isinstance(node, ast.AnnAssign):
            kinds = [node.annotation]
        elif isinstance(node, ast.ClassDef):
            kinds = [*node.bases]
        else:
            continue
        found |= {
            part.id for kind in kinds if kind is not None for part in ast.walk(kind) if isinstance(part, ast.Name)
        }
    return found | {name for node in public for name in alias_parts(node)}


def alias_parts(node: ast.stmt) -> Iterator[str]:
    """The types that a type alias or a TypeVar is made of."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript | ast.Call | ast.BinOp):
        is_type = any(isinstance(target, ast.Name) and not target.id.isupper() for target in node.targets)
        if is_type:
            yield from (part.id for part in ast.walk(node.value) if isinstance(part, ast.Name))
