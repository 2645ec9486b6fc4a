"""Data sets that are generated: ``payments``, and synthetic worlds that each make one thing hard.

All worlds but the last have the same four thousand accounts or so, an illicit share of a tenth and a signal in the
accounts' own numbers, except for what their name says. ``world:tiny`` is for trying things out.

A generated folder has the files of a prepared data set (:mod:`gtea.datasets.prepare`).
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gtea.datasets.payments import PaymentsSpec, write_payments
from gtea.datasets.prepare import FACTS, LABELS, STORE
from gtea.datasets.world import WorldSpec, write_world
from gtea.ingestion.ingest import ingest
from gtea.runtime.files import write_json
from gtea.runtime.json_files import read_json
from gtea.runtime.json_shape import Every
from gtea.runtime.progress import Progress
from gtea.store.publish import move_into_place, scratch_for

PAYMENTS = "payments"
TINY_WORLD = "world:tiny"


def _world(**differs: Any) -> WorldSpec:
    return WorldSpec(**{"accounts": 4_000, "prevalence": 0.1, **differs})


WORLDS: dict[str, WorldSpec] = {
    "world:own": _world(),
    "world:partners": _world(signal="partners"),
    "world:histories": _world(signal="histories"),
    "world:order": _world(signal="order"),
    "world:prevalence-0.5": _world(prevalence=0.5),
    "world:prevalence-0.05": _world(prevalence=0.05),
    # As many accounts as it takes for ten illicit ones in the test part, and few events to make up for it.
    "world:prevalence-0.01": _world(prevalence=0.01, accounts=10_000, events_per_account=10, strength=1.0),
    "world:prevalence-0.001": _world(prevalence=0.001, accounts=50_000, events_per_account=4, strength=1.0),
    "world:drift": _world(drift=1.0),
    # As in simulators: training sees the first days of everybody, the test part whole lives.
    "world:growth": _world(start="together", growth=1.0),
    "world:few-labels": _world(labelled=500, prevalence=0.2),
    "world:hubs": _world(signal="partners", hubs=8),
    "world:prior-shift": _world(prior_shift=1.0),
}
"""The worlds in which the default model is compared with trees."""

GENERATED: dict[str, PaymentsSpec | WorldSpec] = {
    # The same as in gtea demo.
    PAYMENTS: PaymentsSpec(accounts=4_000, events=80_000, illicit_share=0.3),
    **WORLDS,
    TINY_WORLD: WorldSpec(accounts=300, events_per_account=8, prevalence=0.3),
}
"""What is generated for each name."""


def generate(name: str, folder: Path, progress: Progress) -> None:
    """Generate a data set of ``GENERATED`` in a folder, unless it is there already.

    A folder that was generated with other numbers, by an earlier version of gtea, is generated again.
    """
    spec = GENERATED[name]
    facts = {"name": name, "task": "nodes", "spec": json.loads(json.dumps(asdict(spec)))}
    if isinstance(spec, WorldSpec):
        facts["positive"] = "illicit"
    there = _facts_in(folder)
    if there == facts:
        return
    if there.get("name") == name:
        shutil.rmtree(folder)
    with scratch_for(folder) as scratch:
        draft = scratch / "generated"
        progress(f"generating {name}", None)
        _write(spec, draft, progress)
        write_json(draft / FACTS, facts)
        move_into_place(draft, folder)


def _facts_in(folder: Path) -> dict[str, Any]:
    try:
        return dict(read_json(folder / FACTS, Every(object)))
    except (OSError, ValueError):
        return {}


def _write(spec: PaymentsSpec | WorldSpec, folder: Path, progress: Progress) -> None:
    """Write the store and the labels."""
    match spec:
        case PaymentsSpec():
            events, labels = write_payments(spec, folder)
        case WorldSpec():
            events, labels = write_world(spec, folder)
    assert labels == folder / LABELS
    ingest(
        events,
        src="payer",
        dst="payee",
        time="timestamp",
        time_unit="s",
        features=["amount"],
        labels=labels,
        out=folder / STORE,
        progress=progress,
    )
    events.unlink()
