"""DuckDB as an oracle: to open a database takes longer than most of what it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import duckdb


@contextmanager
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection in which nothing is registered yet, to the one database of this process."""
    with _opened().cursor() as connection:
        yield connection


@cache
def _opened() -> duckdb.DuckDBPyConnection:
    # Few rows are asked about, by as many processes as there are cores.
    return duckdb.connect(config={"threads": 1})
