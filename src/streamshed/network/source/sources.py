"""Where rows come from, described without Spark: a folder, a table, topics, a rate generator, any DataFrame."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from streamshed.errors import InvalidNetworkError, Problem, unknown_name
from streamshed.network.source.delta_source import DeltaSource
from streamshed.network.source.iceberg_source import IcebergSource
from streamshed.network.source.kafka_source import KafkaSource
from streamshed.network.words.columns import Column, duplicate_names, format_schema, parse_schema
from streamshed.network.words.given import given_options, is_a, is_of_connect, is_text, is_whole_number
from streamshed.network.words.keywords import with_advice
from streamshed.network.words.local_path import local_path
from streamshed.network.words.reader_options import reader_option_problems


class FileFormat(StrEnum):
    """The formats of files that can be read."""

    PARQUET = "parquet"
    JSON = "json"
    CSV = "csv"
    TEXT = "text"
    ORC = "orc"
    AVRO = "avro"


_LIMITS = frozenset({"maxfilespertrigger", "maxbytespertrigger"})
"""Options of Spark, in lower case, by which somebody says how much of a folder a micro-batch takes."""


@dataclass(frozen=True, slots=True)
class FolderSource:
    """A folder whose new files are read as they appear; made by `folder`.

    Attributes:
        path: The folder; a URI of a folder of this machine becomes its path.
        format: How its files are read.
        schema: The columns as DDL; None: those of the first Parquet footer.
        options: Spark's reader options, sorted by name.
        max_files_per_micro_batch: At most so many new files a micro-batch; None: all there are.
    """

    path: str
    format: FileFormat = FileFormat.PARQUET
    schema: str | None = None
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    max_files_per_micro_batch: int | None = None

    def __post_init__(self) -> None:
        local = local_path(self.path)
        object.__setattr__(self, "path", self.path if local is None else local)
        object.__setattr__(self, "format", file_format(self.format))
        object.__setattr__(self, "options", tuple(sorted(self.options)))
        if problems := [*reader_option_problems(f"{self.format} folder", self.options, f'folder "{self.path}"')]:
            raise InvalidNetworkError(*problems)
        limit = self.max_files_per_micro_batch
        if limit is not None and not is_whole_number(limit, at_least=1):
            says = "max_files_per_micro_batch must be at least 1"
            raise InvalidNetworkError(Problem(says, got=repr(limit), subject=f'folder "{self.path}"'))
        schema = "value string" if self.schema is None and self.format is FileFormat.TEXT else self.schema
        if schema is not None:
            object.__setattr__(self, "schema", format_schema(parse_schema(schema)))
        elif self.format is not FileFormat.PARQUET:
            says = f'{self.format} files need a schema, such as "ts timestamp, size int"'
            raise InvalidNetworkError(Problem(says, subject=f'folder "{self.path}"'))

    @property
    def can_be_paced(self) -> bool:
        """Whether streamshed may say how much of it a micro-batch takes at most: its files are here, oldest first.

        Whoever has said so, by `max_files_per_micro_batch` or an option of Spark's, is heeded.
        """
        options = {name.lower(): value.lower() for name, value in self.options}
        is_told = self.max_files_per_micro_batch is not None or _LIMITS & options.keys()
        return "://" not in self.path and not is_told and options.get("latestfirst") != "true"

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of its rows; reads a Parquet footer where no schema was given.

        Raises:
            SourceUnavailableError: No schema, and no Parquet file to read it from.
        """
        if self.schema is not None:
            return parse_schema(self.schema)
        from streamshed.network.words.footer import parquet_columns

        return parquet_columns(self.path)

    @property
    def names_tell_columns(self) -> bool:
        """Whether names of folders below it, such as `day=1`, are columns; not where files are found at any depth.

        Example:
            >>> folder("in", "json", schema="day int", options={"recursiveFileLookup": "true"}).names_tell_columns
            False
        """
        return ("recursivefilelookup", "true") not in {(name.lower(), value.lower()) for name, value in self.options}


@dataclass(frozen=True, slots=True)
class RateSource:
    """Spark's generator of rows (timestamp, value), value counting up from 0; made by `rate`."""

    rows_per_second: int

    def __post_init__(self) -> None:
        if not is_whole_number(self.rows_per_second, at_least=1):
            raise InvalidNetworkError(Problem("rows_per_second must be at least 1", got=repr(self.rows_per_second)))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of its rows."""
        return (Column("timestamp", "timestamp"), Column("value", "bigint"))


@dataclass(frozen=True, slots=True)
class ColumnsElsewhere:
    """What a process that runs tasks knows of a DataFrame, which lives in the driver alone.

    Attributes:
        dtypes: Names and types, as the DataFrame has them.
    """

    dtypes: tuple[tuple[str, str], ...]


NO_CONNECT = (
    "{} is of Spark Connect, where streamshed cannot reach Spark's Java: make it by a session in the driver's own"
    " process, such as local_session(), without SPARK_REMOTE and remote(...)"
)
"""What is said of a session or a DataFrame of Spark Connect."""


@dataclass(frozen=True, slots=True, eq=False)
class DataFrameSource:
    """A DataFrame that the user built; equal only to a source over the very same object.

    Where it is sent to a task, with the network that it is in, its columns go alone.
    """

    handle: Any

    def __post_init__(self) -> None:
        if not hasattr(self.handle, "dtypes"):
            raise InvalidNetworkError(
                "a source is a DataFrame, folder(...), delta(...), iceberg(...), kafka(...) or rate(...), got"
                f" {type(self.handle).__name__}: {self.handle!r}"
            )
        if is_of_connect(self.handle):
            raise InvalidNetworkError(NO_CONNECT.format("a source"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DataFrameSource) and self.handle is other.handle

    def __hash__(self) -> int:
        return id(self.handle)

    def __reduce__(self) -> tuple[type["DataFrameSource"], tuple[ColumnsElsewhere]]:
        return DataFrameSource, (ColumnsElsewhere(tuple(self.handle.dtypes)),)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of its rows; a type that cannot be named is None."""
        return tuple(_column(name, kind) for name, kind in self.handle.dtypes)


OutsideSource: TypeAlias = FolderSource | DeltaSource | IcebergSource | KafkaSource | RateSource | DataFrameSource
"""Where rows come from that nobody here has made."""


@with_advice
def folder(
    path: str | os.PathLike[str],
    format: str,  # noqa: A002 - Spark's own word for it
    *,
    schema: str | None = None,
    options: Mapping[str, str] | None = None,
    max_files_per_micro_batch: int | None = None,
) -> FolderSource:
    """Describe a folder of files as a source.

    Args:
        path: The folder; files are read once, when they appear in it.
        format: "parquet", "json", "csv", "orc", "avro" or "text" (one column, `value`).
        schema: The columns as DDL, such as "ts timestamp, size int"; Parquet files say it themselves.
        options: Spark's reader options, such as {"header": "true"}.
        max_files_per_micro_batch: At most so many new files a micro-batch; None: all there are.

    Raises:
        InvalidNetworkError: An unknown format, a schema that is missing or cannot be read.

    Example:
        >>> folder("data/packets", "json", schema="ts timestamp, size int").columns[1]
        Column(name='size', type='int')
    """
    if not is_a(path, str, os.PathLike):
        raise InvalidNetworkError(Problem('a folder is a path such as "data/packets"', got=repr(path)))
    reader_options = given_options(options)
    return FolderSource(os.fspath(path), file_format(format), schema, reader_options, max_files_per_micro_batch)


def rate(rows_per_second: int) -> RateSource:
    """Describe Spark's rate source, rows (timestamp, value), as a source.

    Raises:
        InvalidNetworkError: Not at least one row per second.
    """
    return RateSource(rows_per_second)


def file_format(name: str) -> FileFormat:
    """Look up a file format by its name.

    Raises:
        InvalidNetworkError: There is no such format.
    """
    if (kind := next((each for each in FileFormat if is_text(name) and each == name), None)) is None:
        raise InvalidNetworkError(unknown_name("file format", name, FileFormat))
    return kind


def as_source(source: object) -> OutsideSource:
    """Take a source as it is, and a DataFrame as a source.

    Raises:
        InvalidNetworkError: It is neither, or Spark would find its column names ambiguous.
    """
    outside_source = source if isinstance(source, OutsideSource) else DataFrameSource(source)
    if isinstance(outside_source, DataFrameSource) and (
        problems := duplicate_names(c.name for c in outside_source.columns)
    ):
        raise InvalidNetworkError(*problems)
    return outside_source


def source_columns(source: OutsideSource) -> tuple[Column, ...]:
    """Return the columns of a source.

    Raises:
        InvalidNetworkError: Only its catalog tells them.
        SourceUnavailableError: No schema, and nothing on this machine to read it from.
    """
    if isinstance(source, IcebergSource) and source.columns is None:
        says = "only its catalog tells its columns: say those of a stream by schema"
        raise InvalidNetworkError(Problem(f"{source.label}: {says}", "schema"))
    return source.columns or ()


def _column(name: str, kind: object) -> Column:
    try:
        return Column(name, str(kind))
    except InvalidNetworkError:
        return Column(name, None)
