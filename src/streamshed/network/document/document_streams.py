"""Reading the streams of a document."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from streamshed.errors import Problem
from streamshed.network.document.document_sql import SqlReader
from streamshed.network.document.document_values import LengthUnit, is_given, mapping_at, text_at
from streamshed.network.document.schema_streams import PARSE, SOURCES, STREAM
from streamshed.network.model.stream import Stream, default_clock, stream_name_problems
from streamshed.network.source.identity import Identity, IdentityKind, row_identity
from streamshed.network.source.registered_schema import with_registered_schema
from streamshed.network.source.sources import OutsideSource, RateSource, source_columns
from streamshed.network.terms.parsing import Parse, TextFormat
from streamshed.network.words.columns import Column, declared_name
from streamshed.network.words.document_problem import Place, problems_of
from streamshed.network.words.names import is_reserved, name_problem


def read_stream(place: Place, name: str, body: Mapping[str, object], folder: Path, sql: SqlReader) -> Stream | None:
    """Read one stream.

    Args:
        place: Where it stands, and where its problems go.
        name: Its name.
        body: What the document says of it, as far as its shape is right.
        folder: Where relative paths begin.
        sql: Reads an event time that is computed.

    Returns:
        The stream; where it has problems, one with the columns it would have, so that operators can be
        checked; None where not even those are known.
    """
    is_numbered = _is_numbered(place, name, body)
    source = _read_source(place.at("source"), mapping_at(body, "source"), folder)
    parse = _read_parse(place.at("parse"), mapping_at(body, "parse"), folder, source)
    columns = None if source is None else _columns(place, body, source)
    unused = "time" if is_numbered else "number"
    used = {key: value for key, value in body.items() if key != unused}
    values = STREAM.values(place, used, context=LengthUnit(is_numbered))
    if source is None or columns is None or (parse is None and is_given(place, body, "parse")):
        _report_names(place, name, body)
        return None
    all_columns = (*columns, *(parse.schema if parse else ()))
    time = values.setdefault("time", _some_time(all_columns))
    clock = values.setdefault("clock", default_clock(name, is_numbered=is_numbered))
    values.setdefault("watermark_microseconds", 0)
    identity = _read_identity(place.at("identity"), body.get("identity"), source, columns)
    stream = partial(
        Stream,
        name=name,
        source=source,
        schema=columns,
        parse=parse,
        identity=identity,
        is_numbered=is_numbered,
        **values,
    )
    problems = problems_of(stream)
    if not (problems or is_numbered or declared_name(time, _by_name(all_columns))):
        sql.expression(place.at("time"), time)
    if problems:
        _report(place, name, body, problems)
        return _stand_in(name, clock, source, all_columns, time, is_numbered=is_numbered)
    return stream()


def _read_source(place: Place, body: Mapping[str, object], folder: Path) -> OutsideSource | None:
    rows_per_second = mapping_at(body, "rate").get("rows_per_second")
    if isinstance(rows_per_second, int | float):
        return RateSource(int(rows_per_second))
    if any(place.at(key).is_unusable for key in ("format", "schema")):
        return None
    for kind, section in SOURCES.items():
        if is_given(place, body, section.required[0]) and (values := section.read(place, body, folder)) is not None:
            problems = problems_of(partial(kind, **values))
            place.report_parts(body, problems, body[section.required[0]])
            return None if problems else kind(**values)
    return None


def _columns(place: Place, body: Mapping[str, object], source: OutsideSource) -> tuple[Column, ...] | None:
    said = mapping_at(body, "source")
    key = _place_of_columns(said)
    return place.at("source", key).attempt(text_at(said, key), lambda: source_columns(source))


def _place_of_columns(source: Mapping[str, object]) -> str:
    """The key that says where the columns of a source are, unless it has a schema."""
    return next((key for key in ("delta", "iceberg") if key in source), "folder")


def _read_parse(place: Place, body: Mapping[str, object], folder: Path, source: OutsideSource | None) -> Parse | None:
    text_format = next((kind for kind in PARSE if is_given(place, body, kind)), None)
    values = None if text_format is None else PARSE[text_format].read(place, body, folder)
    if text_format is None or values is None:
        return None
    problems = problems_of(partial(Parse, text_format, **values))
    if "schema" in body and "schema_file" in body:
        problems += (Problem("either schema or schema_file says what records hold", "schema_file"),)
    place.report_parts(body, problems, body[text_format.value])
    return None if problems else _registered(place, Parse(text_format, **values), source)


def _registered(place: Place, parse: Parse, source: OutsideSource | None) -> Parse | None:
    if source is None:
        return parse if parse.schema else None
    return place.at("registry").attempt(parse.registry, lambda: with_registered_schema(parse, source))


def _read_identity(place: Place, declared: object, source: OutsideSource, columns: tuple[Column, ...]) -> Identity:
    names = [name for name in declared if isinstance(name, str)] if isinstance(declared, list) else None
    word = declared if isinstance(declared, str) else None
    identity = place.attempt(declared, lambda: row_identity(names or word, source, columns))
    return identity or Identity(IdentityKind.NONE)


def _some_time(columns: tuple[Column, ...]) -> str:
    """A column that can be event time, for a stream whose document names none."""
    return next((column.name for column in columns if column.type in {"timestamp", "timestamp_ntz", None}), "time")


def _is_numbered(place: Place, name: str, body: Mapping[str, object]) -> bool:
    """Whether a stream has numbers; reports where the document says neither, or both."""
    given = [key for key in ("time", "number") if is_given(place, body, key)]
    if not given and not place.is_unusable:
        place.report(name, "one of these keys is missing: time, number")
    elif len(given) > 1:
        place.report(name, "expected only one of time, number")
    return given == ["number"]


def _by_name(columns: Iterable[Column]) -> dict[str, str | None]:
    return {column.name: column.type for column in columns}


def _stand_in(
    name: str, clock: str, source: OutsideSource, columns: tuple[Column, ...], time: str, *, is_numbered: bool
) -> Stream:
    """A stream with the columns that one with problems would have."""
    types: dict[str, str | None] = {}
    for column in columns:
        if declared_name(column.name, types) is None and not is_reserved(column.name):
            types[column.name] = column.type
    if is_reserved(time):
        time = "time"
    types[declared_name(time, types) or time] = "bigint" if is_numbered else "timestamp"
    schema = tuple(Column(column, kind) for column, kind in types.items())
    known_as = "stream" if name_problem("stream", name) else name
    known_clock = default_clock(known_as, is_numbered=is_numbered) if name_problem("clock", clock) else clock
    identity = Identity(IdentityKind.NONE)
    return Stream(known_as, source, schema, time, 0, None, identity, clock=known_clock, is_numbered=is_numbered)


def _report_names(place: Place, name: str, body: Mapping[str, object]) -> None:
    """Report names that cannot be, where the stream itself is not known well enough to be built."""
    clock = text_at(body, "clock") or name
    _report(place, name, body, stream_name_problems(name, clock))


def _report(place: Place, name: str, body: Mapping[str, object], problems: Iterable[Problem]) -> None:
    """Report the model's problems with a stream, each at the key of the document that causes it."""
    text_format = next((key for key in TextFormat if key in mapping_at(body, "parse")), "")
    source = mapping_at(body, "source")
    source_key = "schema" if "schema" in source else _place_of_columns(source)
    inner_keys = {"parse": f"parse.{text_format}", "source": f"source.{source_key}"}
    for problem in problems:
        if problem.element in {"time", "number"} and problem.element not in body:
            continue  # that it is missing was reported
        keys = list(filter(None, inner_keys.get(problem.element, problem.element).split(".")))
        value: object = body
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        place.at(*keys).report_all(value if keys else name, [problem])
