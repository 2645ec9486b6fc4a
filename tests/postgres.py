"""A PostgreSQL server of Debian's packages, for as long as the tests run: own folder, own port, nothing outside."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PASSWORD = "Kolibri-7391-Sternwarte"
"""Distinctive: no file and no output may have it."""


@dataclass(frozen=True)
class Postgres:
    """A running server."""

    folder: Path
    port: int

    @property
    def server(self) -> str:
        """Address without user, password and database."""
        return f"127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        """Over the loopback interface, with the password."""
        return f"postgresql://gtea:{PASSWORD}@{self.server}/postgres"

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements, commit, and return the rows of the last one."""
        import adbc_driver_postgresql.dbapi as driver

        with driver.connect(self.address) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            rows = cursor.fetchall() if cursor.description else []
            connection.commit()
            return list(rows)

    def fill(self, table: str, content: Any) -> None:
        """Make a table of an Arrow table, or replace it."""
        import adbc_driver_postgresql.dbapi as driver

        with driver.connect(self.address) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(table, content, mode="replace")
            connection.commit()


def programs() -> Path | None:
    """The folder of initdb and pg_ctl: on the PATH, or where Debian has it; None if it is not installed."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return versions[-1].parent if versions else None


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def serving_postgres(place: Path) -> Iterator[Postgres]:
    """A server that runs while the body does, as a user without rights: it refuses to run as root."""
    # Short, for its socket, and not below pytest's folders, which only root may enter.
    folder = Path(tempfile.mkdtemp(prefix="gtea-pg-", dir="/tmp"))
    rights: dict[str, Any] = {}
    if os.getuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
        rights = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    (folder / "password").write_text(PASSWORD)
    (folder / "password").chmod(0o644)

    def run(*words: str | Path) -> None:
        subprocess.run(words, check=True, capture_output=True, cwd=folder, **rights)

    port = free_port()
    listening = f"-c listen_addresses=127.0.0.1 -p {port} -k {folder} -F -c timezone=UTC"
    try:
        data = folder / "data"
        settings: Sequence[str] = ("-U", "gtea", "-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync")
        run(place / "initdb", "-D", data, f"--pwfile={folder / 'password'}", *settings)
        run(place / "pg_ctl", "-D", data, "-o", listening, "-l", folder / "log", "-w", "start")
        try:
            yield Postgres(folder, port)
        finally:
            run(place / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
