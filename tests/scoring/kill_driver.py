"""Scores everything by way of a cache and dies on the way. Started by test_edge_cache.py.

usage: kill_driver.py STORE MODEL CACHE CHUNK between|within COUNT

``between`` sends itself kill -9 when COUNT chunks are done, ``within`` just before the COUNT-th one gets its name.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from gtea.nn.model import GTEA
from gtea.scoring.edge_cache import edge_cache
from gtea.scoring.exact import ExactEmbedder
from gtea.scoring.scorer import NodeModel
from gtea.store.store import Store


def main() -> None:
    store, model = Store.open(sys.argv[1]), NodeModel.open(Path(sys.argv[2]), torch.device("cpu"))
    cache, chunk, where, count = Path(sys.argv[3]), int(sys.argv[4]), sys.argv[5], int(sys.argv[6])
    seen = 0

    def die_at_the_last() -> None:
        nonlocal seen
        seen += 1
        if seen == count:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "os.rename" and "slots-" in str(arguments[1]):
            die_at_the_last()

    if where == "within":
        sys.addaudithook(audit)
    progress = (lambda stage, done: die_at_the_last()) if where == "between" else (lambda stage, done: None)
    view = store.as_of()
    with edge_cache(cache, model.saved, store, view.cut, chunk=chunk) as kept:
        embedder = ExactEmbedder(
            cast(GTEA, model.network.gtea), view, model.preprocessing, model.config, torch.device("cpu"), cache=kept,
            progress=progress,
        )  # fmt: skip
        embedder.embed(np.arange(store.num_nodes))


main()
