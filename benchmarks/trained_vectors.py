"""What does one trained vector per account, as in research code, add to link prediction with gtea?

    gtea datasets prepare wikipedia --out wikipedia
    python benchmarks/trained_vectors.py wikipedia/store --seeds 3 --json trained.json

The rival has a trained embedding table instead of random node features. It can't score accounts that are not in the
training data, so it is an experiment and not part of gtea. It should help most for accounts that occur in the training
pairs but have no events in the graph.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn

from gtea.config import InputSpec, ModelConfig, RunConfig, with_settings
from gtea.features.node_features import NodeFeatures
from gtea.features.preprocessing import preprocessing_for
from gtea.models.gtea import GTEALinkNetwork
from gtea.models.registry import default_config, model_config
from gtea.nn.batch import Batch, PairBatch
from gtea.store.store import Store
from gtea.tasks.link_split import split_links, with_negatives
from gtea.training.fit import train_task
from gtea.training.link_task import LinkTask
from gtea.training.loop import no_report

D_VECTOR = 64


class TrainedVectors(GTEALinkNetwork):
    """GTEA with a trained embedding table as node features.

    Batches don't contain account ids. One random feature per account, a function of the account, serves as its key.
    """

    def __init__(self, config: ModelConfig, spec: InputSpec, seed: int, keys: torch.Tensor) -> None:
        super().__init__(config, dataclasses.replace(spec, d_node_features=D_VECTOR), seed)
        self.keys = keys
        start = torch.randn(len(keys), D_VECTOR, generator=torch.Generator().manual_seed(seed))
        self.vectors = nn.Parameter(start / D_VECTOR**0.5)

    def forward(self, pairs: PairBatch) -> torch.Tensor:
        """Logits, [num_pairs]."""
        batch = pairs.batch
        assert isinstance(batch, Batch)
        features = self.vectors[torch.searchsorted(self.keys, batch.node_features[:, 0].contiguous())]
        return super().forward(dataclasses.replace(pairs, batch=dataclasses.replace(batch, node_features=features)))


class TrainedRun(LinkTask):
    """Link prediction with trained vectors."""

    def network(self, spec: InputSpec) -> nn.Module:
        """GTEA with the embedding table."""
        view = self.store.as_of(self.split.train.as_of)
        nodes = preprocessing_for(self.store, view.cut, self.config).nodes
        keys = torch.from_numpy(NodeFeatures(view, nodes).rows(np.arange(self.store.num_nodes))[:, 0])
        distinct = torch.unique(keys)
        assert len(distinct) == len(keys), "two accounts share a key"
        return TrainedVectors(self.config.model, spec, self.config.train.seed, distinct)


def run_config(head: str, trained: bool, seed: int) -> RunConfig:
    """The paper's protocol with a given head and kind of node features."""
    settings = {
        "model.link_head": head,
        "model.num_layers": 2 if head == "dot" else 1,
        "features.nodes": ["random"],
        "features.d_random": 1 if trained else 32,
        "train.epochs": 8,
        "train.seed": seed,
        "split.protocol": "paper",
    }
    return with_settings(default_config(model_config("gtea-l+t"), "links"), settings, "trained_vectors")


def measure(store: Store, head: str, trained: bool, seed: int) -> dict[str, float]:
    """Train one model and return its metrics."""
    split = with_negatives(store, split_links(store, protocol="paper"))
    kind = TrainedRun if trained else LinkTask
    with tempfile.TemporaryDirectory() as folder:
        config = run_config(head, trained, seed)
        run = kind(store, split, config, Path(folder) / "model", torch.device("cpu"))
        metrics = train_task(run, no_report).metrics
    names = ("accuracy", "average_precision")
    return {f"{part}_{name}": metrics[part][name] for part in ("validation", "test") for name in names}


def main() -> None:
    """Run both heads, with and without trained vectors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    store, rows = Store.open(options.store), []
    for seed in range(options.seeds):
        for head in ("dot", "ordered_pair"):
            for trained in (False, True):
                row = {"head": head, "trained": trained, "seed": seed, **measure(store, head, trained, seed)}
                print(json.dumps(row), flush=True)
                rows.append(row)
                if options.json:
                    options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
