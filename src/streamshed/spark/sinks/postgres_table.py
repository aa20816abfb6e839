"""A table of answers in Postgres: made where it is missing, tried where it is not, and written to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from streamshed.answering.table.answer_schema import ANSWER, GAP, arrow_schema
from streamshed.errors import SinkUnavailableError
from streamshed.spark.sinks.postgres_rows import COLUMNS, ID, JSON_COLUMNS, rows_of

if TYPE_CHECKING:
    import psycopg
    from psycopg import sql

_FILLED = ("kind", "query", "query_id", "micro_batch_id")
"""Columns that are never null."""

_TRIALS = (
    {
        "kind": ANSWER,
        "query": "streamshed's trial Ω",
        "window_start": datetime(2026, 1, 1, 0, 0, 0, 123456, tzinfo=UTC),
        "window_end": datetime(2026, 1, 1, 0, 0, 1, 654321, tzinfo=UTC),
        "window_from": -(2**53) - 1,
        "window_until": 2**53 + 1,
        "key": ["Ω", None],
        "aggregate": "n",
        "value": 0.1234567890123,
        "value_text": "0.12345678901234567890123456789",
        **dict.fromkeys(("lower", "upper", "confidence", "standard_error"), 0.1234567890123),
        **dict.fromkeys(("sampling_rate", "rows_estimated"), 0.1234567890123),
        "rows_used": 2**53 + 1,
        "exact": True,
        "low": False,
        "reason": "trial",
    },
    {"kind": GAP, "query": "streamshed's trial Ω"},
)
"""Values of which a column of another type would lose something, and nulls."""


@dataclass(frozen=True)
class PostgresTable:
    """A table of answers.

    Attributes:
        name: The table, or schema and table.
        label: What it is called in messages.
    """

    name: str
    label: str

    def prepare(self, connection: psycopg.Connection[Any]) -> None:
        """Make the table if it is not there, and see that it gives back what is written to it.

        Args:
            connection: A transaction, in which nothing is left but the table.

        Raises:
            SinkUnavailableError: It does not.
        """
        import psycopg

        place = self._identifier.as_string(connection)
        if connection.execute("SELECT to_regclass(%s)", [place]).fetchone() == (None,):
            self._create(connection)
        try:
            with connection.transaction(force_rollback=True):
                for row in rows_of(pa.Table.from_pylist(_TRIALS, arrow_schema()), "trial", 2**53 + 1):
                    self._try(connection, row)
        except psycopg.OperationalError:
            raise
        except psycopg.errors.InvalidColumnReference as error:
            raise self._refused(f"its column {ID} has no unique index") from error
        except psycopg.Error as error:
            raise self._refused(error.diag.message_primary or str(error)) from error

    def upsert(self, connection: psycopg.Connection[Any], rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert rows, or update those that are there.

        Args:
            connection: A transaction.
            rows: Values of the `COLUMNS`.
        """
        with connection.cursor() as cursor:
            cursor.executemany(self._upsert, [_parameters(row) for row in rows])

    def _create(self, connection: psycopg.Connection[Any]) -> None:
        from psycopg import sql

        traits = {ID: " PRIMARY KEY", **dict.fromkeys(_FILLED, " NOT NULL")}
        body = sql.SQL(", ").join(
            sql.SQL("{} " + kind + traits.get(name, "")).format(sql.Identifier(name)) for name, kind in COLUMNS.items()
        )
        connection.execute(sql.SQL("CREATE TABLE {} ({})").format(self._identifier, body))
        connection.execute(sql.SQL("CREATE INDEX ON {} (query, window_start)").format(self._identifier))

    def _try(self, connection: psycopg.Connection[Any], row: tuple[Any, ...]) -> None:
        from psycopg import sql

        statement = sql.SQL("{} RETURNING {}").format(self._upsert, _names())
        there = connection.execute(statement, _parameters(row)).fetchone() or ()
        for name, value, back in zip(COLUMNS, row, there, strict=True):
            if value != back:
                raise self._refused(
                    f"its column {name} gives back {back!r} for {value!r}, it should be {COLUMNS[name]}"
                )

    def _refused(self, reason: str) -> SinkUnavailableError:
        return SinkUnavailableError(
            f"{self.label}: the table there takes no answers: {reason}; name another one, which is made, or give it the"
            " columns of docs/tables.md"
        )

    @property
    def _identifier(self) -> sql.Identifier:
        from psycopg import sql

        return sql.Identifier(*self.name.split("."))

    @property
    def _upsert(self) -> sql.Composed:
        from psycopg import sql

        values = sql.SQL(", ").join(sql.SQL("%s::" + kind) for kind in COLUMNS.values())
        updates = sql.SQL(", ").join(
            sql.SQL("{0} = EXCLUDED.{0}").format(sql.Identifier(name)) for name in COLUMNS if name != ID
        )
        statement = sql.SQL("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT ({}) DO UPDATE SET {}")
        return statement.format(self._identifier, _names(), values, sql.Identifier(ID), updates)


def _names() -> sql.Composed:
    from psycopg import sql

    return sql.SQL(", ").join(map(sql.Identifier, COLUMNS))


def _parameters(row: tuple[Any, ...]) -> list[Any]:
    from psycopg.types.json import Jsonb

    return [
        Jsonb(value) if name in JSON_COLUMNS and value is not None else value
        for name, value in zip(COLUMNS, row, strict=True)
    ]
