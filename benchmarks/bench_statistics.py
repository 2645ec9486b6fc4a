"""How long do the statistics of all accounts take: their own, their partners' and their rhythm?

    python benchmarks/bench_statistics.py [--accounts 1300000] [--rounds 3]

The rival computes the same columns in NumPy, with one sort of all events and sums over segments
(rivals/segment_statistics.py); the results are compared. A third method is gtea with one thread. The store is built in
memory: heavy-tailed degrees, 5 events per account.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphs import heavy_tailed_store
from gtea.features.account_statistics import statistics
from gtea.features.partner_statistics import PartnerStatistics
from gtea.features.rhythm_statistics import rhythm_statistics
from gtea.store.store import Store
from interleave import machine, medians
from resident import resident
from rivals import segment_statistics as rival

_EVENTS_PER_ACCOUNT = 5
_EVENTS_PER_PAIR = 4  # of heavy_tailed_store


def main() -> None:
    """Build the store, compare the results, time the methods, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accounts", type=int, default=130_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    store = heavy_tailed_store(options.accounts, 2 * _EVENTS_PER_ACCOUNT / _EVENTS_PER_PAIR, 1)
    compare(gtea_statistics(store), numpy_statistics(store))
    seconds = medians(
        {
            "gtea": lambda _: gtea_statistics(store),
            "one_thread": lambda _: gtea_statistics(store, threads=1),
            "numpy": lambda _: numpy_statistics(store),
        },
        options.rounds,
    )
    results: dict[str, Any] = {
        **machine(),
        "graph": {"nodes": store.num_nodes, "edges": store.num_edges, "events": store.num_events},
        "seconds": {name: round(spent, 3) for name, spent in seconds.items()},
        "statistics_s": round(seconds["gtea"], 3),
        "statistics_vs_numpy": round(seconds["numpy"] / seconds["gtea"], 1),
        "statistics_vs_one_thread": round(seconds["one_thread"] / seconds["gtea"], 2),
        "peak_gb": round(resident("VmHWM") / 1e9, 2),
    }
    print(json.dumps(results, indent=2))


def gtea_statistics(store: Store, threads: int | None = None) -> list[NDArray[np.float64]]:
    """Own, partner and rhythm statistics of all accounts, by default with one thread per core."""
    before = os.environ.get("OMP_NUM_THREADS", "")
    os.environ["OMP_NUM_THREADS"] = before if threads is None else str(threads)
    try:
        view, nodes = store.as_of(), np.arange(store.num_nodes)
        return [statistics(view, nodes), PartnerStatistics(view).rows(nodes), rhythm_statistics(view, nodes)]
    finally:
        os.environ["OMP_NUM_THREADS"] = before


def numpy_statistics(store: Store) -> list[NDArray[np.float64]]:
    """The same by the rival."""
    rows, num_nodes = rival.read_segments(store), store.num_nodes
    own = rival.own_statistics(rows, num_nodes, store.as_of().cut)
    return [own, rival.partner_statistics(rows, num_nodes), rival.rhythm_statistics(rows, num_nodes)]


def compare(found: list[NDArray[np.float64]], wanted: list[NDArray[np.float64]]) -> None:
    """Fail if the two differ by more than rounding."""
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


if __name__ == "__main__":
    main()
