"""What the service counts, as the text that Prometheus reads. No label holds anything that a client chose."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Mapping, Sequence

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
_HELP = {
    "gtea_accounts": ("gauge", "Accounts with an event."),
    "gtea_alerts": ("gauge", "Accounts at or above the threshold of the model."),
    "gtea_checkpoint_failures_total": ("counter", "Folds of the log into the store that failed."),
    "gtea_checkpoints_total": ("counter", "Folds of the log into the store."),
    "gtea_connections": ("gauge", "Open connections."),
    "gtea_connections_cut_total": ("counter", "Connections refused because all were taken, or cut because too slow."),
    "gtea_events_accepted_total": ("counter", "Events that were written to the log and scored."),
    "gtea_events_repeated_total": ("counter", "Events that came again under the same key and were not counted again."),
    "gtea_last_event": ("gauge", "The number of the last event that the published scores have."),
    "gtea_log_bytes": ("gauge", "The size of the log on disk."),
    "gtea_log_events": ("gauge", "Events in the log that the store does not hold yet."),
    "gtea_pending_accounts": ("gauge", "Accounts that are marked: their scores are computed when they are read."),
    "gtea_ready": ("gauge", "Whether the service is ready."),
    "gtea_resident_bytes": ("gauge", "Memory of the process."),
    "gtea_stream_overflows_total": ("counter", "How often a reader of the stream did not keep up."),
    "gtea_streams": ("gauge", "Open streams of changes."),
}


class ServiceMetrics:
    """Counts of requests and events. Used in the event loop only."""

    def __init__(self) -> None:
        self.accepted = self.repeated = 0
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests[method, route, status] += 1
        buckets = self._buckets.setdefault(route, [0] * (len(_BOUNDS) + 1))
        buckets[bisect.bisect_left(_BOUNDS, seconds)] += 1
        self._seconds[route] += seconds  # type: ignore[assignment]

    def text(self, gauges: Mapping[str, float]) -> str:
        """Everything, with values that are read elsewhere."""
        values = {
            **gauges,
            "gtea_events_accepted_total": self.accepted,
            "gtea_events_repeated_total": self.repeated,
        }
        lines = [line for name, value in sorted(values.items()) for line in _one(name, value)]
        lines += ["# HELP gtea_requests_total Requests by route and status.", "# TYPE gtea_requests_total counter"]
        for (method, route, status), count in sorted(self._requests.items()):
            lines.append(f'gtea_requests_total{{method="{method}",route="{route}",status="{status}"}} {count}')
        lines += [
            "# HELP gtea_request_seconds How long requests took; a stream until it ended.",
            "# TYPE gtea_request_seconds histogram",
        ]
        for route, buckets in sorted(self._buckets.items()):
            lines += _histogram(route, buckets, float(self._seconds[route]))
        return "\n".join(lines) + "\n"


def resident_bytes() -> int:
    """The memory of this process that is in use; 0 where the system does not say."""
    try:
        with open("/proc/self/status", encoding="ascii") as lines:  # noqa: PTH123 (read every few seconds)
            return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:")), 0)
    except OSError:
        return 0


def _one(name: str, value: float) -> list[str]:
    kind, about = _HELP[name]
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}", f"{name} {value:.17g}"]


def _histogram(route: str, buckets: Sequence[int], seconds: float) -> list[str]:
    found, total = [], 0
    for bound, count in zip((*map(str, _BOUNDS), "+Inf"), buckets, strict=True):
        total += count
        found.append(f'gtea_request_seconds_bucket{{route="{route}",le="{bound}"}} {total}')
    found.append(f'gtea_request_seconds_sum{{route="{route}"}} {seconds:.6f}')
    found.append(f'gtea_request_seconds_count{{route="{route}"}} {total}')
    return found
