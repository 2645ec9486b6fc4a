"""The paper's filters for its payment network: drop edges with few events, then accounts with many partners."""

from __future__ import annotations

from dataclasses import dataclass

from gtea.ingestion.workbench import Workbench


@dataclass(frozen=True)
class Filtered:
    """Counts of what the filters left out."""

    few_events: int = 0
    """Events of edges with fewer than min_events_per_edge events."""
    max_degree: int = 0
    """Events of accounts with more than max_degree partners, counted after the first filter."""
    nodes: int = 0
    """The number of those accounts. They are not in the store. Accounts that only lose their edges stay."""


def filter_edges(bench: Workbench, min_events: int, max_degree: int) -> Filtered:
    """Create table ``kept`` from view ``keyed``, and table ``hubs`` with the keys of accounts over max_degree.

    0 turns a filter off.
    """
    bench.run("CREATE TABLE unfiltered AS SELECT * FROM keyed", "filtering")
    bench.run("CREATE TABLE pairs AS SELECT lo, hi, count(*) AS events FROM unfiltered GROUP BY lo, hi")
    few_events = int(bench.row(f"SELECT coalesce(sum(events), 0) FROM pairs WHERE events < {min_events}")[0])
    bench.run(f"DELETE FROM pairs WHERE events < {min_events}")
    limit = max_degree or (1 << 62)
    bench.run(f"""CREATE TABLE hubs AS
        SELECT key FROM (SELECT lo AS key, hi AS partner FROM pairs WHERE lo <> hi
                         UNION SELECT hi, lo FROM pairs WHERE lo <> hi)
        GROUP BY key HAVING count(*) > {limit}""")
    of_hubs = "lo IN (SELECT key FROM hubs) OR hi IN (SELECT key FROM hubs)"
    hub_events = int(bench.row(f"SELECT coalesce(sum(events), 0) FROM pairs WHERE {of_hubs}")[0])
    bench.run(f"DELETE FROM pairs WHERE {of_hubs}")
    bench.run("CREATE TABLE kept AS SELECT e.* FROM unfiltered e SEMI JOIN pairs USING (lo, hi)")
    return Filtered(few_events, hub_events, int(bench.row("SELECT count(*) FROM hubs")[0]))
