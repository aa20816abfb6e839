"""A server of Postgres for tests, from the binaries of the system, on a socket in a folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from tests.lacking import lacking

_BINARIES = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/local/pgsql/bin",
    "/opt/homebrew/opt/postgresql*/bin",
)
_ACCOUNT = "postgres"
"""Postgres refuses to run as root; packages of it bring this account."""

_SETTINGS = "-c listen_addresses='' -c fsync=off -c shared_buffers=16MB -c unix_socket_directories="


@dataclass(frozen=True)
class PostgresServer:
    """A server.

    Attributes:
        binaries: Where its programs are.
        folder: Where its socket, its tables and its log are.
    """

    binaries: Path
    folder: Path

    @property
    def connection(self) -> str:
        """How it is reached, as libpq takes it."""
        return f"host={self.folder} dbname=postgres user={_ACCOUNT}"

    def query(self, text: str) -> list[tuple[Any, ...]]:
        """Run a statement, and return what it returns."""
        with psycopg.connect(self.connection) as connection:
            cursor = connection.execute(text.encode())
            return cursor.fetchall() if cursor.description else []

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return all rows of a table, by column, times as UTC."""
        with psycopg.connect(self.connection, row_factory=dict_row, options="-c TimeZone=UTC") as connection:
            return connection.execute(f"SELECT * FROM {table}".encode()).fetchall()

    def make(self) -> None:
        """Make its folder of tables; whoever reaches the socket may connect, but for the account `guarded`."""
        tables = self.folder / "tables"
        self._run("initdb", "--no-sync", "--encoding=UTF8", f"--username={_ACCOUNT}", "--auth=trust", f"-D{tables}")
        access = tables / "pg_hba.conf"
        access.write_text(f"local all guarded scram-sha-256\n{access.read_text()}")

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        self._control("start", "-w", f"-l{self.folder / 'log'}", f"-o{_SETTINGS}{self.folder}")

    def kill(self) -> None:
        """Stop it as a crash would."""
        self._control("stop", "-mimmediate")

    def _control(self, *arguments: str) -> None:
        self._run("pg_ctl", f"-D{self.folder / 'tables'}", *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        account = ["runuser", "-u", _ACCOUNT, "--"] if os.geteuid() == 0 else []
        command = [*account, str(self.binaries / program), *arguments]
        # To a file: the server keeps what it is given open, so a pipe would never end.
        with (self.folder.parent / "out").open("a+") as output:
            done = subprocess.run(command, cwd=self.folder, stdout=output, stderr=output, check=False)
            output.seek(0)
            assert done.returncode == 0, output.read()


def postgres_binaries() -> Path:
    """Return where the programs of the latest Postgres are; where there are none the test is skipped."""
    folders = [folder for pattern in _BINARIES for folder in sorted(Path("/").glob(pattern.lstrip("/")), reverse=True)]
    with_programs = [folder for folder in folders if (folder / "initdb").exists()]
    if not with_programs:
        lacking(
            "a test with a real server of Postgres: its programs are not there (Debian: apt-get install postgresql)"
        )
    return with_programs[0]


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """Run a server; where there are no binaries the test is skipped."""
    with tempfile.TemporaryDirectory(prefix="postgres-") as scratch:
        folder = Path(scratch) / "server"
        server = PostgresServer(postgres_binaries(), folder)
        folder.mkdir()
        if os.geteuid() == 0:
            Path(scratch).chmod(0o755)
            shutil.chown(folder, _ACCOUNT)
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.kill()
