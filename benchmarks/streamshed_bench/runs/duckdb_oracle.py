"""The same queries in DuckDB, as its expert writes them: one pass over the files, slices, windows from slices."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamshed.errors import MissingExtraError
from streamshed_bench.inputs.workload import SLIDE_SECONDS, PacketQuery

if TYPE_CHECKING:
    import duckdb

Answers = dict[tuple[str, str, int], float]
"""Value by query, aggregate and the second at which the window ends."""


_LINE_COLUMNS = (
    "{ts: 'TIMESTAMP', src_host: 'VARCHAR', dest_host: 'VARCHAR', src_port: 'INTEGER', dest_port: 'INTEGER',"
    " size: 'INTEGER', proto: 'SMALLINT'}"
)


class DuckDB:
    """DuckDB with so many threads.

    Args:
        threads: As many as Spark has.

    Raises:
        MissingExtraError: DuckDB is not installed.
    """

    def __init__(self, threads: int) -> None:
        self._connection: duckdb.DuckDBPyConnection = duckdb_module().connect(config={"threads": threads})
        self._connection.execute("SET TimeZone = 'UTC'")

    def close(self) -> None:
        """Give back what it holds."""
        self._connection.close()

    def answers(
        self,
        files: Sequence[Path],
        queries: Sequence[PacketQuery],
        known_hosts: Path,
        *,
        slide_seconds: int = SLIDE_SECONDS,
    ) -> Answers:
        """Answer queries over packets.

        Args:
            files: The packets, all Parquet or all lines of JSON.
            queries: What is asked.
            known_hosts: The file of the stored relation.
            slide_seconds: How far apart windows start.

        Returns:
            The answers of the windows that end with or before the last slice of the files, and hold rows.
        """
        rows = self._connection.execute(oracle_sql(files, queries, known_hosts, slide_seconds)).fetchall()
        names = [(query.name, name) for query in queries for name in query.aggregates]
        return {
            (*name, int(end)): float(value)
            for end, *values in rows
            for name, value in zip(names, values, strict=True)
            if value is not None
        }


def oracle_sql(
    files: Sequence[Path], queries: Sequence[PacketQuery], known_hosts: Path, slide_seconds: int = SLIDE_SECONDS
) -> str:
    """Write queries as one statement: a row per slice, with a column per aggregate of its window."""
    aggregates = [(query, sql) for query in queries for sql in query.aggregates.values()]
    sliced, windowed = [], []
    for number, (query, sql) in enumerate(aggregates):
        sliced.append(f"{sql} FILTER (WHERE {_condition(query)}) AS a{number}")
        earlier = query.window_seconds - slide_seconds
        windowed.append(f"sum(a{number}) OVER (ORDER BY slice RANGE BETWEEN {earlier} PRECEDING AND CURRENT ROW)")
    joined = ",\n    ".join(sliced)
    packets = f"SELECT * FROM {_packets(files)}"
    if any(query.known_senders for query in queries):
        packets = (
            f"SELECT p.*, h.host IS NOT NULL AS is_known\n"
            f"  FROM {_packets(files)} p LEFT JOIN read_parquet({_text(str(known_hosts))}) h ON p.src_host = h.host"
        )
    return (
        f"WITH packets AS (\n  {packets}),\n"
        f"slices AS (\n  SELECT epoch_us(ts) // {slide_seconds * 1_000_000} * {slide_seconds} AS slice,\n"
        f"    {joined}\n  FROM packets GROUP BY slice)\n"
        f"SELECT slice + {slide_seconds}, {', '.join(windowed)} FROM slices ORDER BY slice"
    )


def _packets(files: Sequence[Path]) -> str:
    paths = ", ".join(_text(str(file)) for file in files)
    if files[0].suffix != ".json":
        return f"read_parquet([{paths}])"
    return f"read_json([{paths}], format = 'newline_delimited', columns = {_LINE_COLUMNS})"


def _condition(query: PacketQuery) -> str:
    conditions = [f"({condition})" for condition in query.conditions]
    return " AND ".join([*conditions, "is_known"] if query.known_senders else conditions)


def _text(value: str) -> str:
    quoted = value.replace("'", "''")
    return f"'{quoted}'"


def duckdb_module() -> Any:
    """Return DuckDB.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        return importlib.import_module("duckdb")
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "the benchmark compares with DuckDB, which is not installed: pip install duckdb"
        ) from error
