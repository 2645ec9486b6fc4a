"""Static features of accounts, from the node table."""

from __future__ import annotations

import numpy as np

from gtea.errors import DataError
from gtea.ingestion.array_writer import ArrayFolder
from gtea.ingestion.bad_rows import BadRowsFound
from gtea.ingestion.workbench import Workbench


def create_clean_nodes(bench: Workbench, num_features: int, found: BadRowsFound) -> int:
    """Create table ``clean_nodes(id, f0..)``, one row per account, and return how many repeated rows were dropped.

    Identical rows of an account are merged; rows that disagree are refused.
    """
    names = [f"f{i}" for i in range(num_features)]
    values = ", ".join(f"TRY_CAST({name} AS FLOAT) AS {name}" for name in names)
    bench.run(f"CREATE TABLE clean_nodes AS SELECT DISTINCT id, {values} FROM staged_nodes WHERE {found.good}")
    conflicts = bench.rows("SELECT id::VARCHAR FROM clean_nodes GROUP BY id HAVING count(*) > 1 ORDER BY 1 LIMIT 10")
    if conflicts:
        accounts = ", ".join(repr(row[0]) for row in conflicts)
        raise DataError(
            f"{found.loaded[0].source.name}: an account may have one row of features "
            f"(got rows that disagree for {accounts}). Keep one row of each."
        )
    good = int(bench.row(f"SELECT count(*) FROM staged_nodes WHERE {found.good}")[0])
    return good - int(bench.row("SELECT count(*) FROM clean_nodes")[0])


def write_node_features(bench: Workbench, arrays: ArrayFolder, num_features: int) -> int:
    """Write node_features and node_in_table, and return how many accounts have no row in the table.

    Such an account gets zeros as features, and a 0 in node_in_table to distinguish them from real zeros.
    """
    names = ", ".join(f"c.f{i}" for i in range(num_features))
    features = arrays.open("node_features", num_features)
    present = arrays.open("node_in_table")
    missing = 0
    sql = f"SELECT c.id IS NOT NULL, {names} FROM accounts a LEFT JOIN clean_nodes c ON a.id::VARCHAR = c.id::VARCHAR"
    for batch in bench.stream(f"{sql} ORDER BY key"):
        in_table = batch.column(0).to_numpy(zero_copy_only=False)
        columns = [column.fill_null(0).to_numpy(zero_copy_only=False) for column in batch.columns[1:]]
        features.write(np.column_stack(columns))
        present.write(in_table)
        missing += int((~in_table).sum())
    return missing
