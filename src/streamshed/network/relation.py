"""Stored relations to look things up in: a static DataFrame, or a file that is re-read when it changes."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from streamshed.errors import InvalidNetworkError, SourceUnavailableError
from streamshed.network.columns import Column, duplicate_names, parse_schema
from streamshed.network.footer import parquet_columns
from streamshed.network.given import given_options
from streamshed.network.names import check_name
from streamshed.network.sources import DataFrameSource, FileFormat, file_format


@dataclass(frozen=True)
class Relation:
    """A stored relation; made by `relation`.

    Attributes:
        name: Its name in the network.
        source: A static DataFrame, or the path of a file or folder.
        columns: Its columns; None: not known before Spark reads it.
        format: How the file is read; None for a DataFrame.
        options: Spark's reader options, sorted by name.
    """

    name: str
    source: DataFrameSource | str
    columns: tuple[Column, ...] | None
    format: FileFormat | None = None
    options: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        check_name("relation", self.name)
        if isinstance(self.source, str) != (self.format is not None):
            raise InvalidNetworkError(f'relation "{self.name}": a path needs a format, and a DataFrame has none')
        if problems := duplicate_names(column.name for column in self.columns or ()):
            raise InvalidNetworkError(*(f'relation "{self.name}": {problem}' for problem in problems))

    @cached_property
    def types(self) -> Mapping[str, str | None] | None:
        """Type by column name; None where the columns are not known."""
        if self.columns is None:
            return None
        return MappingProxyType({column.name: column.type for column in self.columns})

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is cached."""
        return {name: value for name, value in self.__dict__.items() if name in self.__dataclass_fields__}


def relation(
    name: str,
    source: object,
    *,
    format: str | None = None,  # noqa: A002 - Spark's own word for it
    schema: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Relation:
    """Describe a stored relation.

    Args:
        name: Its name in the network.
        source: A static DataFrame, or the path of a file or folder.
        format: For a path: "parquet", "json", "csv" or "text"; by default what the path ends with.
        schema: For a path: its columns as DDL; Parquet files say it themselves.
        options: For a path: Spark's reader options, such as {"header": "true"}.

    Raises:
        InvalidNetworkError: A name, format or schema that cannot be.
        SourceUnavailableError: The file is not there.
    """
    if not isinstance(source, str | os.PathLike):
        handle = source if isinstance(source, DataFrameSource) else DataFrameSource(source)
        if format is not None or schema is not None or options:
            raise InvalidNetworkError(f'relation "{name}": a DataFrame has its own format, schema and options')
        return Relation(name, handle, handle.columns)
    path = os.fspath(source)
    ending = os.path.splitext(path)[1].lstrip(".").lower()  # noqa: PTH122 - may be a URI
    kind = file_format(format or ending or FileFormat.PARQUET)
    return Relation(name, path, _columns(path, kind, schema), kind, given_options(options))


def _columns(path: str, kind: FileFormat, schema: str | None) -> tuple[Column, ...] | None:
    if schema is not None:
        return parse_schema(schema)
    if kind is FileFormat.TEXT:
        return (Column("value", "string"),)
    if not os.path.exists(path):  # noqa: PTH110 - may be a URI
        if "://" in path:
            return None
        raise SourceUnavailableError(f'the relation\'s file "{path}" does not exist')
    return parquet_columns(path) if kind is FileFormat.PARQUET else None
