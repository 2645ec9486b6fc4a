"""What would a graph cost that no machine here can hold? The table of docs/scale.md, computed from measured figures.

    python benchmarks/scale_table.py

It reads records in ``benchmarks/results`` and prints the table, and below it every figure that it was computed from.
Nothing is measured here. What is assumed and not measured is in ``Assumed``, and printed too.

- **Exact scores.** Processor seconds of four parts, imports apart, of two graphs with histories of different lengths
  give a cost per slot and one per encoded event (two equations); what four parts cost for their halo is in the first.
  A further row of the halo costs twice what ``share`` took per row: it is sent and received. Rows of the halo follow
  from how many partners accounts have: an account with d partners that are spread evenly over P parts is read by
  (P - 1) (1 - (1 - 1/P)^d) others. The same formula is printed for the measured numbers of parts, next to what was
  counted. For larger graphs, each account's partners are multiplied.
- **Parts.** As many tasks at once as machines, each with all threads of its machine; more parts than machines if a
  task would not fit into ``memory_gb``. A task's private memory is a base and a number of bytes per slot, through the
  largest tasks of the two graphs.
- **Ingest.** Processor seconds and written bytes per event of four parts, with ids that are whole numbers.
- **Training.** Processor seconds of a step of 32 accounts, by ``bench_step.py``, for each micro-batch. Each worker
  receives the gradients of all micro-batches, so its bytes are their number times those of the weights; it needs a copy
  of the store on a disk of its machine.
- **The store** has 13 bytes per event with one number each, 72 per pair, and 16 and the id per account. The formula is
  printed for the measured graph, next to the size of its files.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

_RESULTS = Path(__file__).parent / "results"
_RECORDS = {
    "cluster": "2026-11-19-cluster.json",
    "small": "2026-11-19-cluster-small.json",
    "short": "2026-11-19-cluster-short-histories.json",
    "ingest": "2026-11-19-ingest-parts.json",
    "step": "2026-11-16-step.json",
}
_LAYERS, _NUMBER = 2, 4
_BYTES_PER_SLOT = 64 * _NUMBER + 3 * _NUMBER
"""What a part keeps of a slot: its embedding, its target, its neighbour and its weight."""
MACHINES = (10, 32, 100)


@dataclass(frozen=True)
class Assumed:
    """The graph, the machines, and what no measurement here says."""

    accounts: float = 1e9
    pairs: float = 10e9
    events: float = 100e9
    encoded_events_per_slot: float = 8.0
    """The mean length of histories after the cap of 64."""
    cores: int = 64
    efficiency: float = 0.65
    """What 64 threads of a machine do, in units of 64 times one: assumed, two cores can't show it."""
    gigabytes_per_second: float = 1.5
    """What a machine reads or writes of the shared files."""
    memory_gb: float = 200.0
    labelled: float = 1e6
    """Accounts that an epoch of training goes over."""
    step_accounts: int = 32
    workers: int = 4
    """Workers of a machine in training. More of them take the same gradients each."""
    weights: int = 93_730
    """Numbers in a GTEA_L+T of default sizes, counted in its folder."""
    bytes_of_id: int = 42


@dataclass(frozen=True)
class Costs:
    """What was measured, per unit."""

    seconds_per_slot: float
    seconds_per_encoded_event: float
    seconds_per_halo_row: float
    base_gb: float
    bytes_per_slot_in_memory: float
    halo_rows_included: float
    """Rows per account of four parts."""
    halo_row_bytes: float
    partners: dict[int, int]
    ingest_seconds_per_event: float
    ingest_bytes_per_event: float
    ingest_gb: float
    step_seconds: float


def halo_rows(partners: dict[int, int], parts: int, factor: float = 1.0) -> float:
    """Rows of other parts' accounts that all parts need together, per account.

    Args:
        partners: How many accounts have so many partners.
        factor: What their partners are multiplied by.
    """
    count, accounts = (np.array(list(each), dtype=float) for each in (partners.keys(), partners.values()))
    readers = (parts - 1) * (1 - (1 - 1 / parts) ** (factor * count))
    return float((readers * accounts).sum() / accounts[count > 0].sum())


def measured(records: dict[str, Any]) -> Costs:
    """The costs per unit."""
    graphs = [records[name] for name in ("cluster", "short")]
    ways = [record["ways"]["4"] for record in graphs]
    rest = [way["cpu_s"] - way["imports_cpu_s"] for way in ways]
    sizes = [[2 * record["graph"]["pairs"], record["graph"]["encoded_events"]] for record in graphs]
    per_slot, per_event = np.linalg.solve(np.array(sizes, dtype=float), np.array(rest))
    slots = [2 * record["graph"]["pairs"] / 4 for record in graphs]
    memory = [way["private_gb"] * 1e9 for way in ways]
    slope = (memory[0] - memory[1]) / (slots[0] - slots[1])
    graph, four = graphs[0]["graph"], ways[0]
    rows = four["halo_rows_per_account"] * graph["accounts"]
    sharing = sum(seconds for stage, seconds in four["cpu_s_by_stage"].items() if stage.startswith("share"))
    ingested = next(run for run in records["ingest"]["runs"] if run["parts"] == 4)
    return Costs(
        per_slot,
        per_event,
        2 * sharing / (rows * _LAYERS),
        (memory[0] - slope * slots[0]) / 1e9,
        slope,
        halo_rows({int(count): accounts for count, accounts in graph["accounts_by_partners"].items()}, 4),
        four["halo_bytes_per_layer"] / rows,
        {int(count): accounts for count, accounts in graph["accounts_by_partners"].items()},
        ingested["cpu_s"] / records["ingest"]["events"],
        ingested["written_bytes"] / records["ingest"]["events"],
        ingested["largest_task_gb"],
        records["step"]["ours_ms"] / 1000 * records["step"]["threads"],
    )


def row(costs: Costs, assumed: Assumed, machines: int) -> dict[str, float]:
    """All of one number of machines; seconds on the clock, bytes and memory of a machine."""
    cores = machines * assumed.cores * assumed.efficiency
    speed = assumed.gigabytes_per_second * 1e9 * machines
    slots = 2 * assumed.pairs
    room = (assumed.memory_gb - costs.base_gb) * 1e9 / costs.bytes_per_slot_in_memory
    parts = machines * int(np.ceil(slots / room / machines))
    measured_mean = sum(count * accounts for count, accounts in costs.partners.items()) / sum(costs.partners.values())
    halo = halo_rows(costs.partners, parts, slots / assumed.accounts / measured_mean) * assumed.accounts
    seconds = (
        costs.seconds_per_slot * slots
        + costs.seconds_per_encoded_event * slots * assumed.encoded_events_per_slot
        + costs.seconds_per_halo_row * max(0.0, halo - costs.halo_rows_included * assumed.accounts) * _LAYERS
    )
    halo_bytes = halo * costs.halo_row_bytes
    # Slots are written once and read in each layer, a halo is written and read once in each.
    crossing = slots * _BYTES_PER_SLOT * (1 + _LAYERS) + 2 * halo_bytes * _LAYERS
    written = costs.ingest_bytes_per_event * assumed.events
    steps = assumed.labelled / assumed.step_accounts
    gradients = assumed.workers * steps * assumed.weights * _NUMBER
    return {
        "ingest: seconds of processors": costs.ingest_seconds_per_event * assumed.events / cores,
        "ingest: seconds of shared files (written and read once)": 2 * written / speed,
        "ingest: GB written, a machine": written / machines / 1e9,
        "ingest: GB of memory, a machine": costs.ingest_gb * assumed.cores,
        "exact scores: parts": parts,
        "exact scores: seconds of processors": seconds / cores,
        "exact scores: seconds of shared files": crossing / speed,
        "exact scores: halo, rows per account": halo / assumed.accounts,
        "exact scores: GB of halo per layer, a machine": halo_bytes / machines / 1e9,
        "exact scores: GB of slots, a machine": slots * _BYTES_PER_SLOT / machines / 1e9,
        "exact scores: GB of memory, a machine": costs.base_gb + slots / parts * costs.bytes_per_slot_in_memory / 1e9,
        "one epoch: seconds of processors": steps * costs.step_seconds / machines / assumed.workers,
        "one epoch: seconds of gradients": gradients / assumed.gigabytes_per_second / 1e9,
        "one epoch: GB of gradients received, a machine": gradients / 1e9,
        "one epoch: GB of the store on the disk of each machine": _store_bytes(assumed, assumed.bytes_of_id) / 1e9,
    }


def _store_bytes(graph: Assumed, bytes_of_id: float) -> float:
    return 13 * graph.events + 72 * graph.pairs + (16 + bytes_of_id) * graph.accounts


def main() -> None:
    """Print the table and where it is from."""
    records = {name: json.loads((_RESULTS / file).read_text()) for name, file in _RECORDS.items()}
    costs, assumed = measured(records), Assumed()
    rows = [row(costs, assumed, machines) for machines in MACHINES]
    print("| machines | " + " | ".join(map(str, MACHINES)) + " |")
    print("|---|" + "---:|" * len(MACHINES))
    for name in rows[0]:
        print(
            f"| {name} | "
            + " | ".join(f"{each[name]:,.3g}" if each[name] < 1000 else f"{each[name]:,.0f}" for each in rows)
            + " |"
        )
    print(
        "\nMeasured:",
        *(f"  {name} = {value:.4g}" for name, value in vars(costs).items() if name != "partners"),
        sep="\n",
    )
    print("\nAssumed:", *(f"  {name} = {value:g}" for name, value in vars(assumed).items()), sep="\n")
    print("\nHalo, rows per account: formula and count")
    for record in (records["cluster"], records["small"]):
        partners = {int(count): accounts for count, accounts in record["graph"]["accounts_by_partners"].items()}
        for made in (made for way, made in record["ways"].items() if way.isdecimal()):
            told = halo_rows(partners, made["parts"])
            print(f"  {made['parts']} parts: {told:.2f} and {made['halo_rows_per_account']:.2f}")
    graph = records["cluster"]["graph"]
    size = _store_bytes(Assumed(graph["accounts"], graph["pairs"], graph["events"]), Assumed.bytes_of_id)
    print(f"\nStore, GB: {size / 1e9:.3f} and {graph['store_bytes'] / 1e9:.3f}")


if __name__ == "__main__":
    main()
