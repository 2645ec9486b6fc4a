"""A training request as JSON: enough to open the same request in another process or on another machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from gtea.config import config_from_json
from gtea.tasks.decision_options import DecisionOptions
from gtea.tasks.split_choice import SplitBy
from gtea.training.request import LinkRequest, NodeRequest


@dataclass(frozen=True)
class RequestRecord:
    """What to train on, and how. Paths are absolute."""

    kind: Literal["nodes", "links"]
    store: str
    config: dict[str, Any]
    device: str
    as_of: str | None = None
    graph_until: str | None = None
    labels: str | None = None
    positive: str | None = None
    unknown: Literal["error", "skip"] = "error"
    split_by: SplitBy = "auto"
    decisions: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(request: NodeRequest | LinkRequest, options: Mapping[str, Any]) -> RequestRecord:
        """The record of a request that was read with some options of the command line."""
        store, config = str(request.store.path.absolute()), request.config.to_json()
        as_of = options.get("as_of")
        if isinstance(request, LinkRequest):
            until = options.get("graph_until")
            return RequestRecord("links", store, config, request.device.type, as_of, until)
        return RequestRecord(
            *("nodes", store, config, request.device.type, as_of),
            labels=str(Path(options["labels"]).absolute()),
            positive=request.positive,
            unknown=options.get("unknown", "error"),
            split_by=request.split_by,
            decisions=asdict(request.decisions),
        )

    def to_json(self) -> dict[str, Any]:
        """The arguments of a task."""
        return asdict(self)

    def open(self) -> NodeRequest | LinkRequest:
        """Read the request again."""
        store, base = Path(self.store), config_from_json(self.config)
        if self.kind == "links":
            return LinkRequest.read(
                store, graph_until=self.graph_until, as_of=self.as_of, device=self.device, base=base
            )
        return NodeRequest.read(
            store,
            self.labels,
            as_of=self.as_of,
            positive=self.positive,
            unknown=self.unknown,
            split_by=self.split_by,
            device=self.device,
            base=base,
            decisions=DecisionOptions(**self.decisions),
        )
