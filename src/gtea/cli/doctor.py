"""``gtea doctor``."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import shutil
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import click

from gtea.cli.carriers import on_option
from gtea.cli.output import json_option
from gtea.cli.terminal import print_json, say
from gtea.errors import UsageError

_CORE = ("click", "duckdb", "numba", "numpy", "pyarrow", "rich", "safetensors", "sklearn", "torch")
_DISTRIBUTIONS = {
    "adbc_driver_postgresql": "adbc-driver-postgresql",
    "gtea_kernels": "gtea-kernels",
    "sklearn": "scikit-learn",
    "torch_geometric": "torch-geometric",
}
# Module -> what it is for and how to get it.
_OPTIONAL = {
    "gtea_kernels": ("compiled LSTM, several times faster on CPUs", "pip install 'gtea[kernels]'"),
    "torch_geometric": ("PyG interop", "pip install 'gtea[pyg]'"),
    "adbc_driver_postgresql": ("events from PostgreSQL and SQLite, scores back", "pip install 'gtea[db]'"),
    "pandas": ("pandas frames in and out", "pip install 'gtea[pandas]'"),
    "polars": ("polars frames in and out", "pip install 'gtea[polars]'"),
    "fsspec": ("stores, models and scores in object stores: s3://, gs://", "pip install 'gtea[objects]'"),
    "optuna": ("gtea tune --search tpe", "pip install 'gtea[tune]'"),
    "matplotlib": ("figures", "pip install 'gtea[plots]'"),
    "ray": ("several machines: --on ray", "pip install 'gtea[ray]'"),
    "uvicorn": ("gtea serve", "pip install 'gtea[serve]'"),
    "tensorboard": ("TensorBoard files of a training", "pip install 'gtea[track]'"),
}


@click.command("doctor")
@on_option
@click.option("--store", metavar="STORE", help="With --on: a store that all nodes must be able to read.")
@click.option("--work", metavar="DIR", help="With --on: a folder that all nodes share.")
@json_option
def command(on: str | None, store: str | None, work: str | None, as_json: bool) -> None:
    """Show versions, threads and optional packages, and how to install what is missing.

    Exit code 1 if a required package is missing or broken. With --on: whether all nodes have the same versions,
    instruction set and kernels, and access to the store and the shared folder; exit code 1 if not.
    """
    if on is not None:
        _examine_nodes(on, store, work, as_json)
        return
    if store is not None or work is not None:
        raise UsageError("--store, --work: only go with --on. Leave them out.")
    facts = _examine()
    if as_json:
        print_json(facts)
    else:
        say(*_lines(facts))
    if any(not part["ok"] for part in facts["core"].values()):
        raise click.exceptions.Exit(1)


def _examine_nodes(on: str, store: str | None, work: str | None, as_json: bool) -> None:
    """Compare all nodes with this one."""
    from gtea.cluster.carriers import carrier_of
    from gtea.cluster.node_check import check_nodes

    with tempfile.TemporaryDirectory(prefix="gtea-") as temporary:
        nodes = check_nodes(carrier_of(on), Path(work or temporary), None if store is None else Path(store))
    if as_json:
        print_json({"nodes": nodes})
    else:
        for node in nodes:
            say(f"{node['host']}: {'; '.join(node['problems']) or 'as this node'}")
    if any(node["problems"] for node in nodes):
        raise click.exceptions.Exit(1)


def _examine() -> dict[str, Any]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    free = shutil.disk_usage(".").free
    return {
        "gtea": importlib.metadata.version("gtea"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "threads": {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")},
        "memory_gb": round(memory / 1e9, 1),
        "disk_free_gb": round(free / 1e9, 1),
        "core": {name: _part(name, f"pip install {_DISTRIBUTIONS.get(name, name)}") for name in _CORE},
        "optional": {name: {**_part(name, how), "for": use} for name, (use, how) in _OPTIONAL.items()},
        "kernels": _kernels(),
        "torch_threads": _torch("get_num_threads"),
        "cuda": _torch("cuda.is_available"),
    }


def _part(name: str, remedy: str) -> dict[str, Any]:
    """Whether a module can be imported, really: an installed but broken part must show here."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other people's deprecations are not the user's concern
            importlib.import_module(name)
        version = importlib.metadata.version(_DISTRIBUTIONS.get(name, name))
    except ImportError as error:
        return {"ok": False, "version": None, "problem": str(error), "remedy": remedy}
    return {"ok": True, "version": version, "problem": None, "remedy": None}


def _torch(path: str) -> Any:
    torch: Any = sys.modules.get("torch")
    for name in path.split("."):
        torch = getattr(torch, name, None)
    return torch() if torch is not None else None


def _kernels() -> str:
    """What the LSTM runs on, as a model would choose it now."""
    # Imported here: without torch there is nothing to choose, and doctor must say so instead of breaking.
    try:
        from gtea.nn.kernels import kernels

        found = kernels()
    except (ImportError, UsageError) as error:
        return f"not usable ({error})"
    if found:
        return f"compiled kernels, {found.instruction_set()}"
    if os.environ.get("GTEA_KERNELS") == "off":
        return "PyTorch, because GTEA_KERNELS=off"
    if sys.modules.get("gtea_kernels") is not None:
        return (
            f"PyTorch; gtea_kernels is installed but was built for another gtea. To fix: {_OPTIONAL['gtea_kernels'][1]}"
        )
    return "PyTorch; gtea_kernels, below, would be faster"


def _lines(facts: dict[str, Any]) -> list[str]:
    lines = [f"gtea {facts['gtea']} on Python {facts['python']}, {facts['system']}"]
    lines.append(
        f"{facts['cores']} cores, {facts['memory_gb']} GB memory, {facts['disk_free_gb']} GB free on this disk; "
        f"torch uses {facts['torch_threads']} threads, CUDA {'yes' if facts['cuda'] else 'no'}"
    )
    lines.append(f"the LSTM on CPUs: {facts['kernels']}")
    lines += ["", "needed"]
    lines += [_line(name, part, "") for name, part in facts["core"].items()]
    lines += ["", "optional"]
    lines += [_line(name, part, part["for"]) for name, part in facts["optional"].items()]
    return lines


def _line(name: str, part: dict[str, Any], use: str) -> str:
    state = part["version"] if part["ok"] else f"missing ({part['problem']}). To fix: {part['remedy']}"
    return f"  {name:<16} {state:<12} {use}".rstrip()
