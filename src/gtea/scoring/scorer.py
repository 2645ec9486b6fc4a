"""A saved model made ready to score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gtea.config import RunConfig, config_from_json
from gtea.errors import ModelError, UsageError
from gtea.features.node_features import HeadInputs
from gtea.features.preprocessing import Preprocessing
from gtea.models.gtea import GTEALinkNetwork, GTEANodeClassifier
from gtea.models.model_folder import SavedModel, load_model
from gtea.models.registry import entry_of
from gtea.models.saved_network import saved_network
from gtea.nn.model import GTEA
from gtea.runtime.parallel import parallel_map
from gtea.sampling.collate import HistoryReader, distinct
from gtea.sampling.pair_batches import PairHistories, Rows, ranked_statistics
from gtea.sampling.tabular import NodeRows
from gtea.scoring.decisions import read_correction, read_threshold
from gtea.scoring.exact import Embedded, embed_exactly
from gtea.scoring.options import EXACT, Grain, ScoringOptions
from gtea.scoring.sampled import LinkScorer, NodeScorer, require_finite
from gtea.store.store import Store
from gtea.store.view import View


class _Model:
    """What models of either task have in common."""

    def __init__(self, saved: SavedModel, device: torch.device, num_classes: int) -> None:
        self.saved = saved
        self.device = device
        self.config: RunConfig = config_from_json(saved.config["run"])
        self.entry = entry_of(self.config.model)
        self.preprocessing = Preprocessing.from_json(saved.preprocessing)
        self.network = saved_network(saved).to(device).eval()
        self.correction = read_correction(saved, num_classes)
        self.threshold = read_threshold(saved, num_classes)
        """None with more than two classes, and for models of gtea 0.1."""

    @property
    def gtea(self) -> GTEA:
        """The network without its head."""
        if not self.entry.exact:
            raise ModelError(f"model: is not a GTEA (it is a {self.config.model.family}). Ask for probabilities.")
        return cast(GTEA, self.network.gtea)

    def decide(self, probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
        """The class of each row of probabilities: of two, by the threshold; of more, the most likely one."""
        if self.threshold is None:
            return np.asarray(probabilities.argmax(axis=1))
        positive = self.positive_column
        return np.where(probabilities[:, positive] >= self.threshold.value, positive, 1 - positive)

    @property
    def positive_column(self) -> int:
        """The column of the positive of two classes."""
        return 1

    def supported(self, options: ScoringOptions) -> ScoringOptions:
        """The options as this model can follow them: only GTEA can be scored exactly from all neighbours."""
        if options.sampled or self.entry.exact:
            return options
        if options.cache is not None:
            raise UsageError(
                f"--cache: keeps edge embeddings of a GTEA model (got a {self.config.model.family}). Leave it out."
            )
        return replace(options, sampled=self.entry.samples)

    def embedded(self, store: Store, cut: int, nodes: NDArray[np.int64], options: ScoringOptions) -> Embedded:
        """The exact embeddings of some nodes, each named once, and their features."""
        view = store.as_of(cut)
        return embed_exactly(self.gtea, self.saved, self.preprocessing, self.config, view, nodes, options, self.device)


class NodeModel(_Model):
    """A trained node classifier."""

    def __init__(self, saved: SavedModel, device: torch.device) -> None:
        if saved.config["task"] != "nodes":
            raise ModelError(
                f"model: does not classify accounts (its task is {saved.config['task']!r}). "
                "Score pairs with gtea score --pairs, or use another model."
            )
        self.classes: tuple[str, ...] = tuple(saved.config["classes"])
        self.positive: str | None = saved.config["positive"]
        super().__init__(saved, device, len(self.classes))

    @staticmethod
    def open(folder: Path, device: torch.device) -> NodeModel:
        """Read and check a model folder."""
        return NodeModel(load_model(folder), device)

    @property
    def positive_column(self) -> int:
        """The column of the positive of two classes."""
        assert self.positive is not None, "a threshold is for two classes"
        return self.classes.index(self.positive)

    def probabilities(
        self, store: Store, cut: int, nodes: NDArray[np.int64], options: ScoringOptions = EXACT
    ) -> NDArray[np.float64]:
        """Class probabilities of nodes as of a cut, one row each, columns as in ``classes``."""
        options = self.supported(options)
        unique, places = np.unique(nodes, return_inverse=True)
        probabilities = np.empty((len(unique), len(self.classes)))
        # Accounts without an event before the cut are scored apart from the others: see ``gtea.scoring.exact``.
        active = store.as_of(cut).has_events(unique)
        if active.any():
            probabilities[active] = self._active(store, cut, unique[active], options)
        if not active.all():
            probabilities[~active] = self._isolated(store, cut, unique[~active], options)
        return probabilities[places]

    def _active(self, store: Store, cut: int, nodes: NDArray[np.int64], options: ScoringOptions) -> NDArray[np.float64]:
        if options.sampled or not self.entry.exact:
            return self.corrected(self._sampled(self.network, store, cut).probabilities(nodes))
        return self._answers(store, cut, nodes, options)

    def _isolated(
        self, store: Store, cut: int, nodes: NDArray[np.int64], options: ScoringOptions
    ) -> NDArray[np.float64]:
        """Nodes without neighbours. There is nothing to sample, and blocks are filled up to a fixed size."""
        if not self.entry.exact:
            return self.corrected(self._sampled(self.network, store, cut).probabilities(nodes))
        return self._answers(store, cut, nodes, replace(options, sampled=False, cache=None))

    def _answers(
        self, store: Store, cut: int, nodes: NDArray[np.int64], options: ScoringOptions
    ) -> NDArray[np.float64]:
        """Exact class probabilities of distinct nodes, all with an event before the cut or all without."""
        embedded = self.embedded(store, cut, nodes, options)
        view = store.as_of(cut)
        inputs = HeadInputs(view, self.preprocessing.rank_inputs, self.preprocessing.neighbour_labels)
        trees = NodeRows(view, self.preprocessing, cached=False) if self.entry.has_trees else None
        return self.answer_blocks(embedded, nodes, inputs, None if trees is None else trees.batch)

    def answer_blocks(
        self,
        embedded: Embedded,
        nodes: NDArray[np.int64],
        inputs: HeadInputs,
        trees: Callable[[NDArray[np.int64]], Tensor] | None,
    ) -> NDArray[np.float64]:
        """Class probabilities of embedded nodes, block by block; a block of isolated nodes is filled up.

        Args:
            nodes: The node of each row of ``embedded``, as ``inputs`` and ``trees`` name it.
        """
        starts = embedded.starts
        isolated = embedded.fill_up

        def answer(block: int) -> NDArray[np.float64]:
            some = np.arange(starts[block], starts[block + 1])
            return self._answer(embedded, np.resize(some, isolated) if isolated else some, nodes, inputs, trees)[
                : len(some)
            ]

        blocks = range(len(starts) - 1)
        return np.concatenate(list(parallel_map(answer, blocks, self.device)))

    @torch.inference_mode()
    def _answer(
        self,
        embedded: Embedded,
        some: NDArray[np.int64],
        nodes: NDArray[np.int64],
        inputs: HeadInputs,
        trees: Callable[[NDArray[np.int64]], Tensor] | None,
    ) -> NDArray[np.float64]:
        network = cast(GTEANodeClassifier, self.network)
        chosen = torch.from_numpy(some).to(self.device)
        rows = inputs.rows(nodes[some], embedded.x[chosen].cpu().numpy())
        head_inputs = None if rows is None else torch.from_numpy(rows).to(self.device)
        tree_inputs = None if trees is None else trees(nodes[some]).to(self.device)
        logits = network.answer(embedded.z[chosen], head_inputs, tree_inputs)
        return self.corrected(torch.softmax(logits.double(), dim=1).cpu().numpy())

    def corrected(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """What is reported, given what the network says."""
        return self.correction.apply(require_finite(probabilities))

    def embeddings(
        self, store: Store, cut: int, nodes: NDArray[np.int64], options: ScoringOptions = EXACT
    ) -> NDArray[np.float64]:
        """The embeddings z of nodes as of a cut, [num_nodes, d_node]: what the head reads."""
        options = self.supported(options)
        if not self.entry.fitted_in_epochs:
            raise ModelError(f"model: has no embeddings (it is a {self.config.model.family}). Ask for probabilities.")
        if options.sampled or not self.entry.exact:
            return self._sampled(cast(nn.Module, self.network.embedder), store, cut).outputs(nodes)
        unique, places = np.unique(nodes, return_inverse=True)
        return require_finite(self.embedded(store, cut, unique, options).z.double().cpu().numpy())[places]

    def _sampled(self, network: nn.Module, store: Store, cut: int) -> NodeScorer:
        batches = self.entry.node_batches(store, cut, self.preprocessing, self.config)
        return NodeScorer(network, batches, self.config.sampling.batch_size, self.device)

    def scores(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """One number per account to rank by: the probability of the positive class, or of the most likely of many."""
        if self.positive is None:
            return np.asarray(probabilities.max(axis=1))
        return probabilities[:, self.classes.index(self.positive)]


class LinkModel(_Model):
    """A trained link predictor."""

    def __init__(self, saved: SavedModel, device: torch.device) -> None:
        if saved.config["task"] != "links":
            raise ModelError(
                f"model: does not predict links (its task is {saved.config['task']!r}). "
                "Leave --pairs out, or use another model."
            )
        super().__init__(saved, device, 2)

    @staticmethod
    def open(folder: Path, device: torch.device) -> LinkModel:
        """Read and check a model folder."""
        return LinkModel(load_model(folder), device)

    def probabilities(
        self,
        store: Store,
        cut: int,
        src: NDArray[np.int64],
        dst: NDArray[np.int64],
        options: ScoringOptions = EXACT,
    ) -> NDArray[np.float64]:
        """The probability of a link for each pair, from what was before a cut."""
        options = self.supported(options)
        if options.sampled or not self.entry.exact:
            return self._corrected(self._sampled(store, cut).probabilities(src, dst))
        ends, (left, right) = distinct(src, dst)
        z = self.embedded(store, cut, ends, options).z
        view = store.as_of(cut)
        statistics = ranked_statistics(view, self.preprocessing)
        # In the order of both ends, so that the order in which pairs are named decides nothing.
        order = np.lexsort((dst, src))
        answers = self.answer_pairs(
            z, left[order], right[order], view, src[order], dst[order], statistics, options.grain
        )
        probabilities = np.empty(len(src))
        probabilities[order] = answers
        return probabilities

    def answer_pairs(
        self,
        z: Tensor,
        left: NDArray[np.integer[Any]],
        right: NDArray[np.integer[Any]],
        view: View,
        src: NDArray[np.int64],
        dst: NDArray[np.int64],
        statistics: Rows | None,
        grain: Grain,
    ) -> NDArray[np.float64]:
        """The probability of a link for each pair, block by block.

        Which pairs are computed together can change the last bit: the first pair must begin a block of all of them.

        Args:
            z: Embeddings of accounts.
            left: For each pair the row of its src in ``z``.
            right: The same for its dst.
            src: The sources, in ascending order.
            dst: Of pairs with one source, in ascending order.
            statistics: What computes the inputs of the trees; None if the model has none.
        """
        reader = HistoryReader(view, self.preprocessing, self.config.sampling.max_events)
        histories = PairHistories(reader, view.store.directed)
        network = cast(GTEALinkNetwork, self.network)

        @torch.inference_mode()
        def answer(first: int) -> NDArray[np.float64]:
            some = slice(first, first + grain.pairs)
            own = histories.read(src[some], dst[some]).to(self.device) if network.reads_history else None
            e_tilde = None if own is None else self.gtea.edge_encoder.embed(own)
            ranks = statistics(src[some], dst[some]).to(self.device) if statistics else None
            u, v = (z[torch.from_numpy(end[some]).to(z.device)] for end in (left, right))
            return torch.sigmoid(network.answer(u, v, e_tilde, ranks).double()).cpu().numpy()

        blocks = range(0, len(src), grain.pairs)
        answers = list(parallel_map(answer, blocks, self.device)) or [np.empty(0)]
        return self._corrected(require_finite(np.concatenate(answers)))

    def _corrected(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.correction.apply(np.stack([1 - probabilities, probabilities], axis=1))[:, 1]

    def _sampled(self, store: Store, cut: int) -> LinkScorer:
        batches = self.entry.pair_batches(store, cut, self.preprocessing, self.config)
        return LinkScorer(self.network, batches, self.config.sampling.batch_size, self.device)
