"""Streams, the roots of a network: source, event time or numbers, how text becomes columns, what identifies a row."""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TypeAlias

from streamshed.errors import Problem
from streamshed.network.model.csv_lines import parse_of_lines
from streamshed.network.model.join_source import JoinSource
from streamshed.network.model.node import Node
from streamshed.network.source.identity import Identity, IdentityKind
from streamshed.network.source.sources import DataFrameSource, FileFormat, FolderSource, OutsideSource
from streamshed.network.terms.parsing import Parse, TextFormat
from streamshed.network.terms.problems import Problems, unknown_column
from streamshed.network.terms.windowing_attribute import WindowingAttribute, attribute_problems, windowing_attribute
from streamshed.network.words.columns import Column, declared_name, duplicate_names
from streamshed.network.words.names import name_problem, reserved_problem
from streamshed.network.words.numbering import format_length

_TEXT_TYPES = frozenset({"string", "binary"})

Source: TypeAlias = OutsideSource | JoinSource
"""Where the rows of a stream come from."""


@dataclass(frozen=True, eq=False, repr=False)
class Stream(Node):
    """A stream of rows; declared by `declared_stream.stream`.

    Attributes:
        name: Its name in the network.
        source: Where its rows come from.
        schema: The columns its source delivers; `columns` are those after parsing.
        time: The windowing attribute: the column of its event time or an expression for it, or the column of its
            numbers.
        watermark_microseconds: How far rows may be out of order before they are late; a number is a millisecond.
        parse: How the text of one column becomes columns; None: there is none to parse.
        identity: What tells its rows apart.
        idle_after_microseconds: After how long a silence others no longer wait; None: the engine's choice.
        clock: Streams with the same clock share a time domain.
        is_numbered: Whether windows lie along whole numbers, not in time.
        max_ahead_microseconds: How far ahead of the wall clock a row's event time is believed; None: the engine's
            choice.
    """

    name: str
    source: Source
    schema: tuple[Column, ...]
    time: str
    watermark_microseconds: int
    parse: Parse | None
    identity: Identity
    idle_after_microseconds: int | None = None
    clock: str = "time"
    is_numbered: bool = False
    max_ahead_microseconds: int | None = None

    def __post_init__(self) -> None:
        problems = Problems(f'stream "{self.name}"')
        problems.add_all(stream_name_problems(self.name, self.clock))
        part = "source" if self.parse is None else "parse.schema"
        problems.add_all(Problem(says, part) for says in duplicate_names(self.columns))
        problems.add_all(_reserved_problems(self))
        problems.add_all(_parse_problems(self))
        attribute = "number" if self.is_numbered else "time"
        along = attribute_problems(self.time, self.columns, is_numbered=self.is_numbered)
        problems.add_all(Problem.of(problem, attribute) for problem in along)
        problems.add_all(_identity_problems(self))
        if self.watermark_microseconds < 0:
            problems.add(Problem("the watermark cannot be negative", got=f"{self.watermark_microseconds} microseconds"))
        if self.idle_after_microseconds is not None and self.idle_after_microseconds <= 0:
            problems.add(Problem("idle_after must be longer than nothing", element="idle_after"))
        problems.add_all(_ahead_problems(self))
        problems.raise_if_any()
        object.__setattr__(self, "time", self.attribute.text)

    @cached_property
    def columns(self) -> Mapping[str, str | None]:
        """Type by column name: the source's, without the text that is parsed, then the parsed ones."""
        if self.parse is None:
            return MappingProxyType({column.name: column.type for column in self.schema})
        text = self.parse.column.lower()
        rest = [column for column in self.schema if column.name.lower() != text]
        return MappingProxyType({column.name: column.type for column in (*rest, *self.parse.schema)})

    @cached_property
    def text(self) -> Parse | None:
        """How the text that its source delivers becomes columns; None: it delivers columns.

        Example:
            >>> from streamshed.network.model.declared_stream import stream
            >>> from streamshed.network.source.sources import folder
            >>> lines = folder("in", "json", schema="ts timestamp, size int")
            >>> stream("packets", lines, time="ts").stream.text.column
            'value'
        """
        source = self.source
        if self.parse is None and isinstance(source, FolderSource) and source.format is FileFormat.JSON:
            return Parse(TextFormat.JSON, "value", source.columns, source.options)
        return self.parse

    @cached_property
    def lines(self) -> Parse | None:
        """How texts become columns where tasks read them: `text`, and lines of CSV, which Spark parses as it reads.

        Example:
            >>> from streamshed.network.model.declared_stream import stream
            >>> from streamshed.network.source.sources import folder
            >>> packets = stream("packets", folder("in", "csv", schema="ts timestamp, size int"), time="ts").stream
            >>> packets.text, packets.lines.format
            (None, <TextFormat.CSV: 'csv'>)
        """
        source = self.source
        if self.parse is None and isinstance(source, FolderSource) and source.format is FileFormat.CSV:
            return parse_of_lines(source)
        return self.text

    @cached_property
    def delivered(self) -> frozenset[str]:
        """The columns that are there before any text is parsed, in lower case."""
        if self.parse is None and self.text is not None:
            return frozenset()
        return frozenset(column.name.lower() for column in self.schema)

    @property
    def is_identified_before_parsing(self) -> bool:
        """Whether what tells its rows apart is outside their text; if not, they are parsed before they can be shed."""
        return all(name.lower() in self.delivered for name in self.identity.columns)

    @cached_property
    def attribute(self) -> WindowingAttribute:
        """What windows lie along, over `columns`."""
        return windowing_attribute(self.time, self.columns)

    @property
    def stream(self) -> "Stream":
        """The stream itself."""
        return self

    @property
    def is_sampled_join(self) -> bool:
        """Whether its rows are results of a join that is shed by a sample."""
        return self.joined is not None and self.joined.is_sampled

    @property
    def joined(self) -> JoinSource | None:
        """What it joins; None: its rows come from outside."""
        return self.source if isinstance(self.source, JoinSource) else None

    @property
    def path(self) -> tuple[Node, ...]:
        """The stream alone."""
        return (self,)

    def columns_needed(self, used: AbstractSet[str]) -> frozenset[str]:
        """The columns that are used, and those of the time."""
        return frozenset({*used, *self.attribute.expression.columns})

    def definition(self, used: AbstractSet[str]) -> tuple[object, ...]:
        """Its name, time and the columns that are used, with their types; not where they come from."""
        types = ((name.lower(), self.columns[name]) for name in self.columns_needed(used))
        joined = () if self.joined is None else self.joined.definition
        return ("stream", self.name, self.attribute.canonical, *sorted(types), *joined)

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What equality compares."""
        return (
            *("stream", self.name, self.source, self.schema, self.attribute, self.watermark_microseconds),
            *(self.parse, self.identity, self.idle_after_microseconds, self.clock, self.is_numbered),
            self.max_ahead_microseconds,
        )

    @property
    def windowing(self) -> str:
        """What windows lie along and how far rows may be out of order, for people.

        Example:
            >>> from streamshed.network.model.declared_stream import stream
            >>> from streamshed.network.source.sources import rate
            >>> stream("ticks", rate(10), time="timestamp", watermark="1 second").stream.windowing
            'time timestamp, watermark 1 second'
            >>> stream("ticks", rate(10), number="value").stream.windowing
            'number value, watermark 0'
        """
        if self.joined is not None:
            return str(self.joined)
        kind = "number" if self.is_numbered else "time"
        watermark = format_length(self.watermark_microseconds, is_numbered=self.is_numbered)
        return f"{kind} {self.time}, watermark {watermark}"

    def __str__(self) -> str:
        return self.name


def default_clock(name: str, *, is_numbered: bool) -> str:
    """The clock of a stream for which none is given: numbers of different streams have nothing in common."""
    return name if is_numbered else "time"


def stream_name_problems(name: str, clock: str) -> Iterator[Problem]:
    """Tell if a stream, or its clock, cannot have its name."""
    for problem, element in ((name_problem("stream", name), ""), (name_problem("clock", clock), "clock")):
        if problem is not None:
            yield Problem.of(problem, element)


def _reserved_problems(stream: Stream) -> Iterator[Problem]:
    is_frame = isinstance(stream.source, DataFrameSource)
    way_out = "rename it (.withColumnRenamed)" if is_frame else "rename it, or leave it out of the schema"
    for column in stream.schema:
        if (problem := reserved_problem("column", column.name, way_out)) is not None:
            yield Problem.of(problem, lead="its source", element="source")
    for column in stream.parse.schema if stream.parse else ():
        if (problem := reserved_problem("column", column.name, "leave it out of the schema")) is not None:
            yield Problem.of(problem, lead="what is parsed", element="parse.schema")


def _parse_problems(stream: Stream) -> Iterator[Problem]:
    parse = stream.parse
    if parse is None:
        return
    types = {column.name: column.type for column in stream.schema}
    text = declared_name(parse.column, types)
    if text is None:
        yield Problem.of(unknown_column(parse.column, types), lead="what is to be parsed", element="parse")
        return
    if isinstance(stream.source, FolderSource) and stream.source.format is FileFormat.JSON:
        yield Problem(
            "its source is a folder of JSON, whose lines are parsed by its own schema: for text inside them use"
            ' .map(...) with from_json, or read the folder as text and parse its column "value"',
            element="parse",
        )
    if parse.format is TextFormat.AVRO and types[text] not in {None, "binary"}:
        yield Problem(f'only bytes can be records of Avro, "{text}" is a {types[text]}', element="parse")
    elif types[text] is not None and types[text] not in _TEXT_TYPES:
        yield Problem(f'only text can be parsed, "{text}" is a {types[text]}', element="parse")
    rest = {name: kind for name, kind in types.items() if name != text}
    for column in parse.schema:
        if declared_name(column.name, rest) is not None:
            says = f'"{column.name}" is parsed out of "{text}" but is a column of the source, too: rename one of them'
            yield Problem(says, "parse.schema")


def _ahead_problems(stream: Stream) -> Iterator[Problem]:
    if stream.max_ahead_microseconds is None:
        return
    if stream.is_numbered:
        says = "max_ahead says how far event times may be ahead of the clock, and numbers have no clock: leave it out"
        yield Problem(says, "max_ahead")
    elif stream.max_ahead_microseconds <= 0:
        yield Problem("max_ahead must be longer than nothing", element="max_ahead")


def _identity_problems(stream: Stream) -> Iterator[Problem]:
    identity, source = stream.identity, stream.source
    column_types = {**{column.name: column.type for column in stream.schema}, **stream.columns}
    for name in identity.columns:
        if declared_name(name, column_types) is None:
            yield Problem.of(unknown_column(name, column_types), lead="its identity", element="identity")
    has_rows = isinstance(source, DataFrameSource) or (
        isinstance(source, FolderSource) and source.format is FileFormat.PARQUET
    )
    if identity.kind is IdentityKind.FILE_ROW and not has_rows:
        says = 'the identity "file_row" needs Parquet files: others do not number their rows'
        yield Problem(says, "identity")
