from __future__ import annotations

from gtea.service.service_metrics import ServiceMetrics, resident_bytes


def test_requests_are_counted_by_route_status_and_time() -> None:
    metrics = ServiceMetrics()
    for seconds in (0.0005, 0.003, 9.0):
        metrics.count("GET", "/alerts", 200, seconds)
    metrics.count("POST", "/events", 422, 0.01)
    metrics.accepted = 7
    lines = metrics.text({"gtea_ready": 1.0}).splitlines()
    for line in (
        "# TYPE gtea_ready gauge",
        "gtea_ready 1",
        "gtea_events_accepted_total 7",
        'gtea_requests_total{method="GET",route="/alerts",status="200"} 3',
        'gtea_requests_total{method="POST",route="/events",status="422"} 1',
        'gtea_request_seconds_bucket{route="/alerts",le="0.001"} 1',
        'gtea_request_seconds_bucket{route="/alerts",le="0.005"} 2',
        'gtea_request_seconds_bucket{route="/alerts",le="+Inf"} 3',
        'gtea_request_seconds_count{route="/alerts"} 3',
        'gtea_request_seconds_sum{route="/alerts"} 9.003500',
    ):
        assert line in lines
    assert resident_bytes() > 1_000_000
