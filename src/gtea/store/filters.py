"""The paper's filters for its payment network: leave out thin edges, then accounts with too many partners."""

from __future__ import annotations

from dataclasses import dataclass

from gtea.data.workbench import Workbench
from gtea.store.build import LOW_HALF


@dataclass(frozen=True)
class Filtered:
    """What the filters left out."""

    few_events: int = 0
    """Events of edges with fewer than min_events_per_edge events."""
    max_degree: int = 0
    """Events of accounts with more than max_degree partners (on the edges that were left)."""
    nodes: int = 0
    """Those accounts; they are not in the store. Accounts that merely lose their edges stay."""


def filter_edges(bench: Workbench, min_events: int, max_degree: int) -> Filtered:
    """Make table ``kept`` from view ``mapped`` and take the over-connected accounts out of ``ids``.

    0 turns a filter off.
    """
    bench.run("CREATE TABLE numbered AS SELECT * FROM mapped", "filtering")
    bench.run(f"""CREATE TABLE pairs AS
        SELECT key, (key >> 32)::INTEGER AS a, (key & {LOW_HALF})::INTEGER AS b, count(*) AS events
        FROM numbered GROUP BY key""")
    few = int(bench.row(f"SELECT coalesce(sum(events), 0) FROM pairs WHERE events < {min_events}")[0])
    bench.run(f"DELETE FROM pairs WHERE events < {min_events}")
    limit = max_degree or (1 << 62)
    bench.run(f"""CREATE TABLE hubs AS
        SELECT node AS n FROM (SELECT a AS node, b AS partner FROM pairs WHERE a <> b
                               UNION SELECT b, a FROM pairs WHERE a <> b)
        GROUP BY node HAVING count(*) > {limit}""")
    of_hubs = "a IN (SELECT n FROM hubs) OR b IN (SELECT n FROM hubs)"
    crowded = int(bench.row(f"SELECT coalesce(sum(events), 0) FROM pairs WHERE {of_hubs}")[0])
    bench.run(f"DELETE FROM pairs WHERE {of_hubs}")
    hubs = int(bench.row("SELECT count(*) FROM hubs")[0])
    # Numbers close up in the same order, so a stays below b and the id table stays sorted.
    bench.run("""CREATE TABLE renumbered AS
        SELECT id, n AS old, (row_number() OVER (ORDER BY n) - 1)::INTEGER AS n
        FROM ids WHERE n NOT IN (SELECT n FROM hubs)""")
    bench.run("""CREATE TABLE kept AS
        SELECT (x.n::UBIGINT << 32) | y.n::UBIGINT AS key, e.* EXCLUDE (key)
        FROM numbered e JOIN pairs p ON e.key = p.key
        JOIN renumbered x ON p.a = x.old JOIN renumbered y ON p.b = y.old""")
    bench.run("DROP VIEW mapped")
    bench.run("DROP TABLE ids")
    bench.run("CREATE TABLE ids AS SELECT id, n FROM renumbered")
    return Filtered(few, crowded, hubs)
