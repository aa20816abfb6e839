"""A table of Iceberg as a source or a relation, described without PyIceberg."""

from __future__ import annotations

from dataclasses import dataclass

from streamshed.errors import InvalidNetworkError, Problem
from streamshed.network.words.columns import Column, format_schema, parse_schema
from streamshed.network.words.given import is_a, is_text, is_whole_number
from streamshed.network.words.iceberg_name import check_iceberg
from streamshed.network.words.keywords import with_advice


@dataclass(frozen=True, slots=True)
class IcebergSource:
    """A table of Iceberg; made by `iceberg`.

    Attributes:
        table: Namespace and table.
        catalog: A catalog of the configuration of PyIceberg; empty: its default.
        schema: The columns that are read, as DDL; None: all that the table has.
        max_files_per_micro_batch: Of a stream, at most so many new files a micro-batch; None: a thousand.
        skip_changes: Of a stream, whether snapshots that change or delete rows are passed over.
    """

    table: str
    catalog: str = ""
    schema: str | None = None
    max_files_per_micro_batch: int | None = None
    skip_changes: bool = False

    def __post_init__(self) -> None:
        if not (is_text(self.table) and is_text(self.catalog)):
            says = "a table of Iceberg and its catalog are names"
            raise InvalidNetworkError(Problem(says, "iceberg", got=f"table {self.table!r}"))
        check_iceberg(self.table, self.catalog)
        if self.schema is not None:
            object.__setattr__(self, "schema", format_schema(parse_schema(self.schema)))
        limit = self.max_files_per_micro_batch
        problems = []
        if limit is not None and not is_whole_number(limit, at_least=1):
            says = "max_files_per_micro_batch must be at least 1"
            problems.append(Problem(says, "max_files_per_micro_batch", got=repr(limit), subject=self.label))
        if not is_a(self.skip_changes, bool):
            says = "skip_changes is True or False"
            problems.append(Problem(says, "skip_changes", got=repr(self.skip_changes), subject=self.label))
        if problems:
            raise InvalidNetworkError(*problems)

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
def iceberg(
    table: str,
    catalog: str = "",
    *,
    schema: str | None = None,
    max_files_per_micro_batch: int | None = None,
    skip_changes: bool = False,
) -> IcebergSource:
    """Describe a table of Iceberg: as a source, or to look rows up in by `relation`; needs the extra `iceberg`.

    A stream has the rows that the table has, then those that are added to it.

    Args:
        table: "namespace.table".
        catalog: The name of a catalog in the configuration of PyIceberg: in ~/.pyiceberg.yaml, or in
            PYICEBERG_CATALOG__<NAME>__URI and the like, where passwords and tokens are, too. Empty: its default.
        schema: The columns that are read, as DDL; None: all that the table has, of a relation.
        max_files_per_micro_batch: Of a stream, at most so many new files a micro-batch; None: a thousand.
        skip_changes: Of a stream, whether snapshots that change or delete rows are passed over; else they end the run.

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
    return IcebergSource(table, catalog, schema, max_files_per_micro_batch, skip_changes)
