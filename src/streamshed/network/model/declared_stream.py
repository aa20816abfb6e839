"""Declaring a stream: from what a user writes to rows."""

from collections.abc import Iterator, Sequence

from streamshed.errors import Problem
from streamshed.network.model.rows import Rows
from streamshed.network.model.stream import Stream, default_clock
from streamshed.network.source.identity import row_identity
from streamshed.network.source.registered_schema import with_registered_schema
from streamshed.network.source.sources import as_source, source_columns
from streamshed.network.terms.parsing import Parse
from streamshed.network.terms.problems import Problems
from streamshed.network.words.duration import parse_duration
from streamshed.network.words.given import is_a, is_filled_text
from streamshed.network.words.keywords import with_advice
from streamshed.network.words.numbering import parse_length


@with_advice
def stream(  # noqa: PLR0913 - one argument per property of a stream
    name: str,
    source: object,
    *,
    time: str | None = None,
    number: str | None = None,
    watermark: str | int | None = None,
    parse: Parse | None = None,
    identity: str | Sequence[str] | None = None,
    idle_after: str | None = None,
    clock: str | None = None,
    max_ahead: str | None = None,
) -> Rows:
    """Declare a stream.

    Args:
        name: Its name in the network.
        source: A streaming DataFrame, `folder(...)`, `kafka(...)` or `rate(...)`.
        time: The column of its event time, which may come out of `parse`; or an SQL expression over the columns, such
            as "timestamp_millis(ms)" or "to_timestamp(day, 'yyyy-MM-dd')", of which the same row always has the same.
        number: In the place of time, a column of whole numbers that do not fall, such as the number of the row:
            windows are as many numbers long, `window(1000, every=100)`.
        watermark: How far rows may be out of order before they are late, such as "1 second", or so many numbers; None:
            not at all.
        parse: `parse_json(...)`, `parse_csv(...)` or `parse_avro(...)` where one column holds what a row says.
        identity: The columns that tell its rows apart, "file_row" (Parquet: path and row number) or "none";
            by default what the source offers.
        idle_after: After how long a silence others no longer wait for it; None: the engine's choice.
        clock: Streams with the same clock share a time domain; None: "time", or the stream's name if it has numbers.
        max_ahead: How far ahead of the wall clock event times are believed; rows beyond are set aside while the network
            runs. None: the engine's choice, a day.

    Raises:
        InvalidNetworkError: Listing all that is wrong.
        SourceUnavailableError: The source's columns cannot be read.

    Example:
        >>> from streamshed.network.source.sources import rate
        >>> ticks = stream("ticks", rate(10), number="value")
        >>> str(ticks.window(1000, every=100).agg(n="count(*)"))
        'n = count(*) over 1000 every 100'
    """
    problems = Problems(f'stream "{name}"')
    is_numbered = number is not None and time is None
    watermark_microseconds = (
        0 if watermark is None else problems.attempt(lambda: parse_length(watermark, is_numbered=is_numbered)) or 0
    )
    idle = None if idle_after is None else problems.attempt(lambda: parse_duration(idle_after))
    ahead = None if max_ahead is None else problems.attempt(lambda: parse_duration(max_ahead))
    problems.add_all(_argument_problems(time, number, parse))
    known_source = problems.require(lambda: as_source(source))
    columns = source_columns(known_source)
    chosen = problems.require(lambda: row_identity(identity, known_source, columns))
    problems.raise_if_any()
    declared = Stream(
        name=name,
        source=known_source,
        schema=columns,
        time=str(number if time is None else time),
        watermark_microseconds=watermark_microseconds,
        parse=problems.require(lambda: with_registered_schema(parse, known_source)),
        identity=chosen,
        idle_after_microseconds=idle,
        clock=default_clock(name, is_numbered=is_numbered) if clock is None else clock,
        is_numbered=is_numbered,
        max_ahead_microseconds=ahead,
    )
    return Rows(declared)


def _argument_problems(time: object, number: object, parse: object) -> Iterator[str]:
    if (time is None) == (number is None):
        yield 'it needs either a time or a number: time="column", or number="column" for windows along whole numbers'
    for kind, name in (("time", time), ("number", number)):
        if name is not None and not is_filled_text(name):
            what = "a column, or an expression" if kind == "time" else "the name of a column"
            yield Problem(f"its {kind} is {what}", got=repr(name))
    if not (parse is None or is_a(parse, Parse)):
        yield Problem(
            'how it is parsed is parse_json("column", "schema"), parse_csv(...) or parse_avro(...)', got=repr(parse)
        )
