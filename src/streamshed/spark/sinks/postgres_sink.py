"""Answers in a table of Postgres: each under an id of its own, so that it is there once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from streamshed.errors import InvalidNetworkError, ServerUnavailableError, SinkUnavailableError
from streamshed.network.run.postgres_connection import check_postgres
from streamshed.network.words.given import is_text
from streamshed.spark.common.extra_module import extra_module, sentence
from streamshed.spark.sinks.driver_sink import DriverSink
from streamshed.spark.sinks.postgres_rows import rows_of
from streamshed.spark.sinks.postgres_table import PostgresTable

if TYPE_CHECKING:
    import psycopg

_DEFAULTS = {
    "application_name": ("PGAPPNAME", "streamshed"),
    "connect_timeout": ("PGCONNECT_TIMEOUT", 10),
    "keepalives_idle": ("", 30),
    "tcp_user_timeout": ("", 60_000),
}
"""By parameter of libpq, the variable that may say otherwise, and the value: libpq would wait for hours."""


@dataclass(frozen=True)
class PostgresSink(DriverSink):
    """A table of Postgres, each answer once.

    A micro-batch is one transaction, which inserts or updates answers by their ids. One without answers is none. Each
    has a connection of its own.

    Attributes:
        table: The table, or schema and table.
        connection: How the server is reached, as libpq takes it, without a password.
    """

    table: str
    connection: str = ""

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return f'the sink postgres "{self.table}"'

    def prepare(self) -> None:
        """See that the server answers, make the table if it is not there, and see that it takes answers."""
        with self._connected() as connection:
            PostgresTable(self.table, self.label).prepare(connection)

    def write_rows(self, answers: pa.Table, query_id: str, micro_batch_id: int) -> None:
        """Insert the answers, or update those that are there, in one transaction."""
        rows = list(rows_of(answers, query_id, micro_batch_id))
        if rows:
            with self._connected() as connection:
                PostgresTable(self.table, self.label).upsert(connection, rows)

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[Any]]:
        """A transaction, which is committed at the end."""
        psycopg = extra_module("psycopg", extra="postgres", label=self.label)
        try:
            given = psycopg.conninfo.conninfo_to_dict(self.connection)
            defaults = {
                name: value
                for name, (variable, value) in _DEFAULTS.items()
                if name not in given and variable not in os.environ
            }
            with psycopg.connect(self.connection, **defaults) as connection:
                yield connection
        except psycopg.OperationalError as error:
            raise ServerUnavailableError(f"{self.label}: {sentence(error)}") from error
        except psycopg.Error as error:
            raise SinkUnavailableError(f"{self.label}: {sentence(error)}") from error


def postgres_sink(table: str, connection: str = "") -> PostgresSink:
    """Write answers to a table of Postgres, each once; needs the extra `postgres`.

    Args:
        table: "table" or "schema.table", which is made if it is not there.
        connection: How the server is reached, as libpq takes it: "host=db user=streams", "service=answers" or a URI.
            The password is not part of it: it comes from PGPASSWORD, ~/.pgpass or the service. Empty: PGHOST and the
            like say how.

    Raises:
        InvalidNetworkError: They are no texts, the table has no proper name, or the connection holds a password.
    """
    if not (is_text(table) and is_text(connection)):
        raise InvalidNetworkError(f"a sink of Postgres is a table and how its server is reached, got table {table!r}")
    check_postgres(table, connection)
    return PostgresSink(table, connection)
