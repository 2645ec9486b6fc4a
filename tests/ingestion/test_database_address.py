"""An address may hold a password: nothing that is shown has it, and what can't be taken apart is not repeated."""

from __future__ import annotations

import pytest

from gtea.errors import UsageError
from gtea.ingestion.database_address import is_database, parse_address, refuse_address, split_table

SECRET = "Kolibri-7391"


@pytest.mark.parametrize(
    ("address", "name"),
    [
        (f"postgresql://me:{SECRET}@db.bank:5433/core", "postgresql://db.bank:5433/core"),
        (f"postgres://me:{SECRET}@db.bank/core?sslmode=require", "postgresql://db.bank/core"),
        (f"postgresql:///core?host=/run/postgresql&user=me&password={SECRET}", "postgresql:///core"),
        (f"postgresql://me:{SECRET}@[::1]:5433/core", "postgresql://[::1]:5433/core"),
        (f"postgresql://me:{SECRET}@one:1,two:2/core", "postgresql://one:1,two:2/core"),
    ],
)
def test_the_name_of_a_database_has_no_password(address: str, name: str) -> None:
    found = parse_address(address)
    assert found.name == name
    assert found.uri == address
    assert SECRET not in repr(found)
    assert SECRET not in found.without_secrets(f"FATAL: {address} and {SECRET}")


def test_an_escaped_password_is_known_in_both_forms() -> None:
    found = parse_address("postgresql://me:a%40b%2Fc@db/core")
    assert found.without_secrets("a%40b%2Fc a@b/c") == "*** ***"


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://me:{SECRET}@x@db.bank/core",
        f"postgresql://me:pa/{SECRET}@db.bank/core",
        f"postgresql://me:pa:{SECRET}@db.bank/core",
        f"postgresql://me:pa#{SECRET}@db.bank/core",
        f"postgresql://me:pa%{SECRET}@db.bank/core",
        f"postgresql://me:pa {SECRET}@db.bank/core",
        f"postgresql://db.bank:{SECRET}/core",
        f"postgresql+psycopg2://me:{SECRET}@db.bank/core",
        f"POSTGRESQL://me:{SECRET}@db.bank/core",
    ],
)
def test_an_address_that_is_not_well_formed_is_refused_without_repeating_it(address: str) -> None:
    assert is_database(address)
    with pytest.raises(UsageError, match="must have the form postgresql://") as found:
        parse_address(address)
    assert SECRET not in str(found.value)


def test_an_sqlite_address_names_a_file() -> None:
    assert str(parse_address("sqlite:///a b.db").path) == "a b.db"
    assert str(parse_address("sqlite:////data/a.db").path) == "/data/a.db"
    assert parse_address("sqlite:////data/a?mode=rwc.db").uri == "file:/data/a%3Fmode%3Drwc.db"
    with pytest.raises(UsageError, match="three slashes"):
        parse_address("sqlite://a.db")


def test_what_is_no_file_is_refused_where_a_file_is_wanted() -> None:
    refuse_address("a.csv")
    refuse_address("C:/a.csv")
    with pytest.raises(UsageError, match="is an address, and a file is wanted here") as found:
        refuse_address(f"mysql://me:{SECRET}@db/core")
    assert SECRET not in str(found.value)


def test_the_environments_password_is_a_secret_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", SECRET)
    assert parse_address("postgresql://db/core").without_secrets(f"not {SECRET}!") == "not ***!"


@pytest.mark.parametrize(
    ("given", "address", "table"),
    [
        ("postgresql://me@db/core/scores", "postgresql://me@db/core", "scores"),
        ("postgresql://me@db/core/risk.scores", "postgresql://me@db/core", "risk.scores"),
        ("postgresql:///core/scores?host=/run/pg", "postgresql:///core?host=/run/pg", "scores"),
        ("postgresql://db/core/my%20scores", "postgresql://db/core", "my scores"),
        ("sqlite:///out.db/scores", "sqlite:///out.db", "scores"),
        ("sqlite:////data/out.db/scores", "sqlite:////data/out.db", "scores"),
    ],
)
def test_the_last_part_is_the_table(given: str, address: str, table: str) -> None:
    assert split_table(given) == (address, table)


@pytest.mark.parametrize("given", ["postgresql://db/core", "postgresql://db/core/", "sqlite:///out.db", "sqlite:////"])
def test_without_a_table_there_is_nothing_to_write_to(given: str) -> None:
    with pytest.raises(UsageError, match="must end in /table"):
        split_table(given)
