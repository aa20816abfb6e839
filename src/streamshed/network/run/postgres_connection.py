"""How a server of Postgres is reached, without its password."""

from __future__ import annotations

import re

from streamshed.errors import InvalidNetworkError, Problem
from streamshed.network.words.passwords import holds_password

_TABLE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)?")


def check_postgres(table: str, connection: str) -> None:
    """See that a table has a name, and that a connection holds no password, which others would read there.

    Args:
        table: A table, or a schema and a table.
        connection: As libpq takes it: "host=db user=streams", "service=answers" or a URI; empty: by the environment.

    Raises:
        InvalidNetworkError: One of them is wrong; a password is not repeated.

    Example:
        >>> check_postgres("live.answers", "postgresql://streams@db:5432/flows")
        >>> check_postgres("live.answers", "host=db password=secret")
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: the connection to Postgres holds a password, which others can read there:
        leave it out, and set PGPASSWORD, or write it into ~/.pgpass or the file of a service
    """
    if _TABLE.fullmatch(table) is None:
        says = 'a table of Postgres is "table" or "schema.table", of letters, digits and underscores'
        raise InvalidNetworkError(Problem(says, got=repr(table)))
    if holds_password(connection):
        raise InvalidNetworkError(
            "the connection to Postgres holds a password, which others can read there: leave it out, and set"
            " PGPASSWORD, or write it into ~/.pgpass or the file of a service"
        )
