"""Are all nodes alike, and can they reach what they need? The check of ``gtea doctor --on``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gtea.cluster.carriers import Carrier
from gtea.cluster.job_array import JobArray
from gtea.cluster.node_facts import differences, node_facts
from gtea.cluster.part_files import DamagedFileError
from gtea.cluster.tasks import FileTask, made_by
from gtea.runtime.json_shape import Every, Natural
from gtea.runtime.progress import no_progress
from gtea.store.store import Store

_FACTS = {"host": str, "cores": Natural, "facts": Every(str), "store": str}
_WORK = "gtea.cluster.node_facts:inspect_node"


def check_nodes(carrier: Carrier, folder: Path, store: Path | None) -> list[dict[str, Any]]:
    """What each node is, and its ``problems`` in words: how it differs from this one, and what it can't reach."""
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    arguments = {"store": None if store is None else str(store.absolute())}
    expected = "not asked for" if store is None else Store.open(store).digest
    if isinstance(carrier, JobArray):
        tasks = [FileTask(f"node.{number}", _WORK, arguments) for number in range(carrier.num_workers)]
        tasks[carrier.number].path(folder).unlink(missing_ok=True)  # that of an earlier check
        outcomes = carrier.on_each_node(tasks[carrier.number], folder)
        for task in tasks:
            carrier.wait_for(task, folder, no_progress)
        names = [task.name for task in tasks]
    else:
        outcomes = carrier.on_each_node(FileTask("node", _WORK, arguments), folder)
        names = ["node"] if len(outcomes) == 1 else []
        names = [name.name.removesuffix(".part") for name in sorted(folder.glob("node*.part"))] or names
    found = [_described(folder, name, expected) for name in names]
    lost = [{"host": "a node", "problems": [" ".join(outcome["lines"])]} for outcome in outcomes if outcome]
    if not isinstance(carrier, JobArray):
        for name in names:
            (folder / f"{name}.part").unlink(missing_ok=True)
    missing = len(outcomes) - len(names) - len(lost)
    lost += [{"host": "a node", "problems": [f"can't write to {folder}, or it is another folder there"]}] * missing
    return [*found, *lost]


def _described(folder: Path, name: str, store: str) -> dict[str, Any]:
    try:
        made = made_by(folder, name)
        facts = {name: made.fact(name, shape) for name, shape in _FACTS.items()}
    except DamagedFileError as error:
        return {"host": name, "problems": error.lines}
    problems = differences(node_facts(), facts["facts"])
    if facts["store"] != store:
        problems.append(
            f"can't read the store ({facts['store']})" if len(facts["store"]) != len(store) else "has another store"
        )
    return {"host": facts["host"], "cores": facts["cores"], "facts": facts["facts"], "problems": problems}
