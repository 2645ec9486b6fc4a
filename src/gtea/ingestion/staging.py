"""Load all inputs into one table, ``staged(src, dst, t, f0.., c0..)``, in the order of the input.

Only the account ids are converted at this stage, so that a bad row can be reported as it was written. The rowid of the
table is the row's position in the whole input; it keeps ties in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from gtea.errors import DataError
from gtea.ingestion.bad_rows import (
    BadRowsFound,
    Check,
    find_bad_rows,
    id_checks,
    line_checks,
    number_checks,
    time_checks,
)
from gtea.ingestion.source_loading import Loaded, load
from gtea.ingestion.sources import Scan, Source
from gtea.ingestion.table_files import require_columns
from gtea.ingestion.time_plan import TimePlan
from gtea.ingestion.workbench import Workbench
from gtea.store.schema import EventColumns, NodeColumns

_SMALL_INTEGERS = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"})
_LARGE_INTEGERS = frozenset({"UBIGINT", "HUGEINT", "UHUGEINT"})
_NUMBERS = _SMALL_INTEGERS | _LARGE_INTEGERS | {"FLOAT", "DOUBLE", "BOOLEAN"}
_JODIE_PREFIXES = {"user_id": "user:", "item_id": "item:"}
"""JODIE numbers users and items separately from 0. The prefixes make them different accounts."""


@dataclass(frozen=True)
class Staged:
    """The staged events: the types of their columns, and how each source was read."""

    columns: EventColumns
    loaded: tuple[Loaded, ...]
    types: dict[str, str]


def staged_types(sources: Sequence[Source], columns: EventColumns, id_type: str) -> dict[str, str]:
    """The columns of table ``staged`` and their types: those that all sources can be read as."""
    for source in sources:
        require_columns(source.name, columns.all, tuple(source.columns))
    return {
        "src": id_type,
        "dst": id_type,
        "t": _common_type(sources, columns.time),
        **{
            staged: _feature_type(sources, name)
            for staged, name in zip(columns.shape.features, columns.features, strict=True)
        },
        **dict.fromkeys(columns.shape.categorical, "VARCHAR"),
    }


def stage_events(
    bench: Workbench,
    sources: Sequence[Source],
    scans: Sequence[Future[Scan]],
    columns: EventColumns,
    *,
    jodie: bool,
    types: dict[str, str],
) -> Staged:
    """Read every source into table ``staged``, in columns of these types."""
    bench.run(f"CREATE TABLE staged ({', '.join(f'{name} {kind}' for name, kind in types.items())})")
    loaded: list[Loaded] = []
    for source, scan in zip(sources, scans, strict=True):
        prefixes = _JODIE_PREFIXES if jodie else {}
        values = [
            f"{_prefixed(source.expressions[column], prefixes.get(column))}::{kind}"
            for column, kind in zip(columns.all, types.values(), strict=True)
        ]
        loaded.append(load(bench, "staged", source, scan, ", ".join(values)))
    return Staged(columns, tuple(loaded), types)


def stage_nodes(
    bench: Workbench, sources: Sequence[Source], scans: Sequence[Future[Scan]], columns: NodeColumns, *, id_type: str
) -> BadRowsFound:
    """Read the node table into ``staged_nodes(id, f0..)`` and find its bad rows."""
    for source in sources:
        require_columns(source.name, columns.all, tuple(source.columns))
    names = ["id", *(f"f{i}" for i in range(len(columns.features)))]
    types = [id_type, *(_feature_type(sources, name) for name in columns.features)]
    bench.run(f"CREATE TABLE staged_nodes ({', '.join(f'{n} {t}' for n, t in zip(names, types, strict=True))})")
    loaded = []
    for source, scan in zip(sources, scans, strict=True):
        values = [f"{source.expressions[c]}::{t}" for c, t in zip(columns.all, types, strict=True)]
        loaded.append(load(bench, "staged_nodes", source, scan, ", ".join(values)))
    checks = id_checks("id", columns.node_id, id_type)
    for staged, name in zip(names[1:], columns.features, strict=True):
        checks += number_checks(staged, name)
    return find_bad_rows(bench, "staged_nodes", checks, loaded)


def common_id_type(
    event_sources: Sequence[Source], columns: EventColumns, nodes: Sequence[Source], node_id: str
) -> str:
    """BIGINT if every id column holds integers of at most 64 bits, else VARCHAR. Other types are refused."""
    pairs = [(source, name) for source in event_sources for name in (columns.src, columns.dst)]
    pairs += [(source, node_id) for source in nodes]
    kinds = set()
    for source, name in pairs:
        require_columns(source.name, (name,), tuple(source.columns))
        kinds.add(_id_kind(source, name))
    return "BIGINT" if kinds == {"BIGINT"} else "VARCHAR"


def check_events(bench: Workbench, staged: Staged, times: TimePlan) -> BadRowsFound:
    """Find the staged rows that can't become events."""
    columns = staged.columns
    checks: list[Check] = line_checks(staged.loaded)
    checks += id_checks("src", columns.src, staged.types["src"])
    checks += id_checks("dst", columns.dst, staged.types["dst"])
    checks += time_checks(columns.time, staged.types["t"], times)
    for name, column in zip(columns.shape.features, columns.features, strict=True):
        checks += number_checks(name, column)
    return find_bad_rows(bench, "staged", checks, staged.loaded)


def create_clean_view(bench: Workbench, staged: Staged, times: TimePlan, good: str) -> None:
    """Create the view ``clean(r, src, dst, t, f0.., c0..)`` of good rows, converted. r is the position in the input."""
    features = [f"TRY_CAST({name} AS FLOAT) AS {name}" for name in staged.columns.shape.features]
    # A missing category becomes a separate category, the empty string.
    categories = [f"coalesce({name}, '') AS {name}" for name in staged.columns.shape.categorical]
    values = ", ".join(["rowid AS r", "src", "dst", f"{times.expression} AS t", *features, *categories])
    bench.run(f"CREATE VIEW clean AS SELECT {values} FROM staged WHERE {good}")


def _id_kind(source: Source, name: str) -> str:
    kind = source.columns[name]
    if kind in _SMALL_INTEGERS:
        return "BIGINT"
    whole = kind in _LARGE_INTEGERS or (kind.startswith("DECIMAL") and kind.endswith(",0)"))
    if whole or kind in ("VARCHAR", "UUID") or kind.startswith("ENUM"):
        return "VARCHAR"
    raise DataError(
        f"{source.name}, column {name!r}: account ids must be text or whole numbers (got type {kind}). "
        "Convert the column; a float can't tell ids above 2^53 apart."
    )


def _common_type(sources: Sequence[Source], name: str) -> str:
    kinds = {source.columns[name] for source in sources}
    return kinds.pop() if len(kinds) == 1 else "VARCHAR"


def _feature_type(sources: Sequence[Source], name: str) -> str:
    kinds = {source.columns[name] for source in sources}
    for source in sources:
        kind = source.columns[name]
        if kind not in _NUMBERS and kind != "VARCHAR" and not kind.startswith("DECIMAL"):
            raise DataError(
                f"{source.name}, column {name!r}: a feature must be a number (got type {kind}). "
                "Convert it, or pass it as --categorical."
            )
    if len(kinds) == 1:
        return kinds.pop()
    return "VARCHAR" if "VARCHAR" in kinds else "DOUBLE"


def _prefixed(expression: str, prefix: str | None) -> str:
    return f"('{prefix}' || {expression})" if prefix else expression
