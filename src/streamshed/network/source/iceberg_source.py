"""A table of Iceberg in which rows are looked up, described without PyIceberg."""

from __future__ import annotations

from dataclasses import dataclass

from streamshed.errors import InvalidNetworkError, Problem
from streamshed.network.words.columns import Column, format_schema, parse_schema
from streamshed.network.words.given import is_text
from streamshed.network.words.iceberg_name import check_iceberg
from streamshed.network.words.keywords import with_advice


@dataclass(frozen=True, slots=True)
class IcebergSource:
    """A table of Iceberg; made by `iceberg`.

    Attributes:
        table: Namespace and table.
        catalog: A catalog of the configuration of PyIceberg; empty: its default.
        schema: The columns that are read, as DDL; None: all that the table has.
    """

    table: str
    catalog: str = ""
    schema: str | None = None

    def __post_init__(self) -> None:
        if not (is_text(self.table) and is_text(self.catalog)):
            says = "a table of Iceberg and its catalog are names"
            raise InvalidNetworkError(Problem(says, "iceberg", got=f"table {self.table!r}"))
        check_iceberg(self.table, self.catalog)
        if self.schema is not None:
            object.__setattr__(self, "schema", format_schema(parse_schema(self.schema)))

    @property
    def label(self) -> str:
        """What it is called in messages.

        Example:
            >>> IcebergSource("live.hosts", "lake").label
            'iceberg "live.hosts"'
        """
        return f'iceberg "{self.table}"'

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The columns of its rows; None: only its catalog tells them."""
        return None if self.schema is None else parse_schema(self.schema)


@with_advice
def iceberg(table: str, catalog: str = "", *, schema: str | None = None) -> IcebergSource:
    """Describe a table of Iceberg, to look rows up in by `relation`; needs the extra `iceberg`.

    Args:
        table: "namespace.table".
        catalog: The name of a catalog in the configuration of PyIceberg: in ~/.pyiceberg.yaml, or in
            PYICEBERG_CATALOG__<NAME>__URI and the like, where passwords and tokens are, too. Empty: its default.
        schema: The columns that are read, as DDL; None: all that the table has.

    Raises:
        InvalidNetworkError: The table or the catalog has no proper name, or the schema cannot be read.

    Example:
        >>> iceberg("live.hosts", "lake", schema="host string, subnet string").columns[1]
        Column(name='subnet', type='string')
        >>> iceberg("hosts")
        Traceback (most recent call last):
        streamshed.errors.InvalidNetworkError: a table of Iceberg is "namespace.table", of letters, digits, underscores
        and hyphens, got 'hosts'
    """
    return IcebergSource(table, catalog, schema)
