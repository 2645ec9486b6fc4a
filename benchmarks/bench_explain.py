"""How long does it take to explain an account: its score without each of its counterparties, exactly?

    python benchmarks/bench_explain.py [--counterparties 1000] [--rounds 3] [--json out.json]

The rival is a replay: a store without the events of one pair, scored anew. It is timed for a few pairs, and the scores
are compared. The model is an untrained hybrid of the default size; times do not depend on its weights, but for how many
neighbours get a weight. The account has been scored before, and one thread is used. Processor time is reported beside
wall time: it means the same on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from graphs import YEAR, addresses
from gtea.config import RunConfig
from gtea.explain.effect import EffectModel, Effects, Replay
from gtea.features.neighbour_labels import NeighbourLabels, neighbour_labels_of
from gtea.features.preprocessing import input_spec, preprocessing_for
from gtea.models.model_folder import SavedModel
from gtea.models.registry import build_classifier, default_config, model_config
from gtea.scoring.scorer import NodeModel
from gtea.store.memory import store_of_numbers
from gtea.store.store import Store
from interleave import machine

_ACCOUNTS = 20_000
_REPLAYED = 3


def main() -> None:
    """Build the store and the model, compare, time, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counterparties", type=int, default=1000)
    parser.add_argument("--events", type=float, default=2.0, help="Events per pair, on average.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    store = star_store(options.counterparties, options.events)
    model = untrained(store)
    ready = EffectModel(model, store.as_of())
    effects, replay = ready.effects_on(0), Replay(model, store.as_of(), [0])
    singles = list(np.arange(len(effects.partners))[:, None])
    compare(effects, replay, singles)
    wall, processor = timed(lambda: ready.effects_on(0).without(singles), options.rounds)
    replayed, _ = timed(lambda: replay.without(singles[:_REPLAYED]), options.rounds)
    results: dict[str, Any] = {
        **machine(),
        "counterparties": len(singles),
        "events": int((np.diff(store.arrays.edge_offset)[store.arrays.edge_a == 0]).sum()),
        "explain_ms": round(1000 * wall, 1),
        "explain_processor_ms": round(1000 * processor, 1),
        "replay_ms_each": round(1000 * replayed / _REPLAYED, 1),
        "explain_vs_replay": round(replayed / _REPLAYED * len(singles) / wall, 1),
    }
    text = json.dumps(results, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")


def star_store(degree: int, events: float) -> Store:
    """An account with many counterparties, who deal with others, too."""
    generator = np.random.default_rng(0)
    own = generator.geometric(1 / events, degree)
    src = np.concatenate([np.zeros(own.sum(), dtype=np.int64), generator.integers(1, _ACCOUNTS, 4 * _ACCOUNTS)])
    dst = np.concatenate([np.repeat(np.arange(1, degree + 1), own), generator.integers(1, _ACCOUNTS, 4 * _ACCOUNTS)])
    reverse = generator.random(len(src)) < 0.4
    src, dst = np.where(reverse, dst, src), np.where(reverse, src, dst)
    amount = generator.lognormal(1, 1, len(src)).astype(np.float32)
    times = generator.integers(0, YEAR, len(src))
    return store_of_numbers(addresses(_ACCOUNTS), src, dst, times, features={"amount": amount})


def untrained(store: Store) -> NodeModel:
    """A hybrid of the default size."""
    config: RunConfig = default_config(model_config("hybrid"), "nodes")
    labels = neighbour_labels(store)
    preprocessing = preprocessing_for(store, store.end, config, for_trees=True, labels=labels)
    spec = input_spec(preprocessing)
    network = build_classifier(config.model, spec, 2, 0)
    rows = torch.randn(2000, spec.d_tree_inputs, generator=torch.Generator().manual_seed(0))
    network.fit_trees(rows, torch.arange(2000) % 2, torch.ones(2000))  # type: ignore[operator]
    described = {
        "run": config.to_json(), "task": "nodes", "classes": ["bad", "good"], "positive": "bad", "input": vars(spec),
    }  # fmt: skip
    saved = SavedModel(network.state_dict(), described, preprocessing.to_json(), {}, {})
    return NodeModel(saved, torch.device("cpu"))


def neighbour_labels(store: Store) -> NeighbourLabels:
    """Labels of every tenth account."""
    nodes = np.arange(0, store.num_nodes, 10)
    return neighbour_labels_of(store, nodes, nodes % 2, ("bad", "good"))


def compare(effects: Effects, replay: Effects, singles: list[Any]) -> None:
    """Fail if the scores differ."""
    np.testing.assert_allclose(effects.without(singles[:_REPLAYED]), replay.without(singles[:_REPLAYED]), atol=1e-6)


def timed(method: Callable[[], object], rounds: int) -> tuple[float, float]:
    """The shortest wall and processor time of some rounds, in seconds, after a warm-up."""
    method()
    found = []
    for _ in range(rounds):
        wall, processor = time.perf_counter(), time.process_time()
        method()
        found.append((time.perf_counter() - wall, time.process_time() - processor))
    return min(each[0] for each in found), min(each[1] for each in found)


if __name__ == "__main__":
    main()
