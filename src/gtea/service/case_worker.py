"""A process that explains live scores: case pages and reasons, one account at a time, as JSON lines.

It makes the store as of a number of the log itself, from the store on disk and the log, so that the service copies
nothing and holds nothing up. Whatever an explanation takes, it takes here: the process can be killed at any time.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import torch

from gtea.errors import StoreError
from gtea.explain.explainer import Explainer
from gtea.explain.explanation import log_odds
from gtea.ingestion.numbered_events import last_held
from gtea.live.frozen_store import store_with
from gtea.report.case import case_of
from gtea.report.case_page import render_case
from gtea.report.common_facts import CommonFacts
from gtea.report.known_labels import KnownLabels
from gtea.report.ranking import expected_precision
from gtea.runtime.worker_process import answer_stream, error_answer, send_answer
from gtea.scoring.edge_cache import model_digest
from gtea.scoring.scorer import NodeModel
from gtea.service.case_request import LiveCaseRequest, ServedPlaces
from gtea.service.event_log import read_log
from gtea.store.store import Store

_NICE = 10
_TRIES = 5
_SAME = 1e-5
"""Scores that differ by more are those of other events."""


def main() -> None:
    """Answer until stdin closes."""
    with contextlib.suppress(OSError):
        os.nice(_NICE)  # events come first
    torch.set_num_threads(1)
    serve(sys.stdin, answer_stream())


def serve(lines: Iterable[str], answers: TextIO) -> None:
    """Answer each account. The first line says where everything is."""
    maker: CaseMaker | None = None
    for line in lines:
        try:
            if maker is None:
                maker = CaseMaker(ServedPlaces(**json.loads(line)))
                continue
            answer = maker.answer(LiveCaseRequest(**json.loads(line)))
        except Exception as error:
            answer = error_answer(error)
        send_answer(answers, answer)


class CaseMaker:
    """Explains accounts as of one number of the log after another."""

    def __init__(self, places: ServedPlaces) -> None:
        self._places = places
        self._model = NodeModel.open(Path(places.model), torch.device("cpu"))
        if model_digest(self._model.saved) != places.model_digest:
            raise StoreError(f"{places.model}: was changed since the service started. Restart the service.")
        self._number, self._seconds = -1, 0.0
        self._explainer: Explainer | None = None

    def answer(self, request: LiveCaseRequest) -> dict[str, Any]:
        """The page of an account, or its strongest counterparties, and how long it took to make the store."""
        explainer = self._as_of(request.number)
        found = self._page(explainer, request) if request.reasons is None else self._reasons(explainer, request)
        return {**found, "seconds": self._seconds}

    def _as_of(self, number: int) -> Explainer:
        if self._explainer is None or self._number != number:
            self._explainer, begun = None, time.monotonic()  # never two in memory
            self._explainer = Explainer(self._model, self._store(number))
            self._number, self._seconds = number, time.monotonic() - begun
        return self._explainer

    def _store(self, number: int) -> Store:
        folder = Path(self._places.log)
        for _ in range(_TRIES):
            name, _ = read_log(folder, 0, 0)
            store = Store.open(self._places.store)
            held = last_held(store.manifest.sources, name)
            _, rows = read_log(folder, held, number)
            if len(rows) == number - held:
                return store_with(store, rows)
            # The log was folded into the store after we opened that: open it again.
        raise StoreError(
            f"{self._places.store}: must hold the events that its log has forgotten, and none after {number:,} (got "
            f"{held:,}). Restart the service."
        )

    def _page(self, explainer: Explainer, request: LiveCaseRequest) -> dict[str, Any]:
        explanation = explainer.explain(request.account)
        self._require_same(explanation.score, request)
        model, places = self._model, self._places
        common = CommonFacts(
            Path(places.model).name,
            Path(places.store).name,
            tuple(request.score_counts),
            request.num_accounts,
            expected_precision(model.saved, np.array([explanation.score])),
            model.config.sampling.max_events,
            model.positive,
            importlib.metadata.version("gtea"),
            request.number,
        )
        labels = KnownLabels(explainer.store, model.preprocessing.neighbour_labels)
        case = case_of(common, labels, explanation, explainer.store, request.rank)
        page = render_case(case)
        # A lone half of a surrogate pair can't be sent.
        return {"page": page.encode("utf-8", "replace").decode()}

    def _reasons(self, explainer: Explainer, request: LiveCaseRequest) -> dict[str, Any]:
        scored = explainer.scored([explainer.store.node(request.account)])
        self._require_same(scored.score, request)
        base, without = log_odds(scored.score), scored.without.tolist()
        effects = np.array([base - log_odds(each) for each in without])
        weights = explainer.weights(scored.effects)
        strongest = np.argsort(-np.abs(effects), kind="stable")[: request.reasons].tolist()
        return {
            "num_counterparties": len(without),
            "counterparties": [
                {
                    "account": explainer.store.account(int(scored.effects.partners[i])),
                    "effect": float(effects[i]),
                    "score_without": without[i],
                    "weight": None if np.isnan(weights[i]) else float(weights[i]),
                }
                for i in strongest
            ],
        }

    def _require_same(self, score: float, request: LiveCaseRequest) -> None:
        if abs(score - request.score) > _SAME:
            raise StoreError(
                f"{self._places.store}: must have the events that the service has (got another score of an account). "
                "Append to it by the service only, and restart that."
            )


if __name__ == "__main__":
    main()
