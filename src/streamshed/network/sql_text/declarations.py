"""CREATE STREAM, CREATE TABLE, CREATE FUNCTION and SET, as a document has what they declare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamshed.errors import Problem, closest_name
from streamshed.network.source.kafka_source import topic_columns
from streamshed.network.sql.sql_syntax import Token
from streamshed.network.sql_text.document_parts import DocumentParts
from streamshed.network.sql_text.sql_cursor import SqlCursor, unquoted_name
from streamshed.network.sql_text.sql_tokens import SqlRefusal, Tokens, name_of, spelled, tokens_of
from streamshed.network.sql_text.statement_values import settings_of, take_length
from streamshed.network.words.columns import format_schema
from streamshed.network.words.keywords import our_word

_TOPIC_KEYS = ("kafka", "servers", "pattern", "start", "headers", "prefix", "max_rows_per_micro_batch")
_PLACES = ("folder", "delta", "iceberg", *_TOPIC_KEYS)
_SOURCE_KEYS = (
    *("folder", "delta", "iceberg", "catalog", "skip_changes"),
    *("format", "options", "max_files_per_micro_batch"),
    *_TOPIC_KEYS,
)
_RATE_KEYS = ("rows_per_second",)
_STREAM_KEYS = ("identity", "idle_after", "clock", "max_ahead")
_TABLE_PLACES = ("path", "delta", "iceberg")
_TABLE_KEYS = (*_TABLE_PLACES, "format", "options", "catalog")
_DEPTH = "max_depth"
_RATE_COLUMNS = "timestamp TIMESTAMP, value BIGINT"
_NUMBERS = ("bigint", "int", "integer", "smallint", "tinyint", "long", "short", "byte")
_FORMATS = ("json", "csv", "avro")
_AVRO = "avro"


@dataclass(frozen=True, slots=True)
class Declared:
    """A stream or relation as queries see it.

    Attributes:
        columns: The names of its columns, in order; None: only its files tell them.
        time: Its event time, spelled; None: a relation, which has none.
    """

    columns: tuple[str, ...] | None
    time: str | None


def read_stream(parts: DocumentParts, name: str, cursor: SqlCursor) -> Declared:
    """Read what follows CREATE STREAM and its name.

    Args:
        parts: Where the stream goes.
        name: Its name.
        cursor: What follows.

    Raises:
        SqlRefusal: A clause is wrong or missing.
    """
    keys = ("streams", name)
    body: dict[str, object] = {}
    columns, watermark, parse = _elements(parts, keys, body, cursor)
    while True:
        if cursor.is_at("watermark"):
            watermark = _watermark(cursor)
        elif cursor.is_at("parse"):
            parse = _parse(parts, keys, body, cursor)
        else:
            break
    _read_with(parts, keys, body, cursor, (*_SOURCE_KEYS, *_RATE_KEYS, *_STREAM_KEYS))
    cursor.expect_end()
    source = body.setdefault("source", {})
    if not isinstance(source, dict) or not source.keys() & {"folder", "delta", "iceberg", "kafka", "rate"}:
        raise SqlRefusal(
            (),
            "where its rows come from is missing: WITH (folder = '...'), (delta = '...'), (iceberg = '...'), (kafka ="
            " '...', servers = '...'), or rows_per_second",
        )
    given = columns_given_by(source)
    if given is not None and columns:
        raise SqlRefusal(columns, _columns_are_given(source, given))
    if columns:
        source["schema"] = parts.columns(columns)
        parts.mark((*keys, "source", "schema"), columns, "columns")
    if watermark is None:
        raise SqlRefusal(
            (), "event time is missing: WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, where ts is its column"
        )
    typed = _columns(columns) if given is None else _columns(tokens_of(given))
    _set_time(parts, keys, body, watermark, typed | parse)
    # Which fields records of Avro have is read later, out of their schema.
    names = (*typed, *parse) if typed and _AVRO not in _mapping(body.get("parse")) else None
    parts.parts["streams"][name] = body
    dropped = {str(value).lower() for key, value in _mapping(body.get("parse")).items() if key in _FORMATS}
    visible = None if names is None else tuple(column for column in names if column.lower() not in dropped)
    return Declared(visible, spelled(watermark.time))


def columns_given_by(source: Mapping[str, object]) -> str | None:
    """Return the columns of a source that has them by itself, as DDL; None: the stream says which they are.

    Args:
        source: As documents have it.
    """
    if "rate" in source:
        return _RATE_COLUMNS
    if "kafka" not in source:
        return None
    return format_schema(topic_columns(str(source.get("prefix", "")), headers=source.get("headers") is True))


def _columns_are_given(source: Mapping[str, object], given: str) -> str:
    if "rate" in source:
        return f"with rows_per_second its columns are {given}: leave them out"
    return f"the columns of a topic are {given}: leave them out, PARSE value AS JSON (...) takes out what records say"


def read_table(parts: DocumentParts, name: str, cursor: SqlCursor) -> Declared:
    """Read what follows CREATE TABLE and its name: a stored relation.

    Raises:
        SqlRefusal: A clause is wrong or missing.
    """
    keys = ("relations", name)
    body: dict[str, object] = {}
    columns: Tokens = ()
    if cursor.is_at_symbol("("):
        columns = cursor.parenthesized().rest
        if any(token.is_word("watermark") for token in columns):
            raise SqlRefusal(columns[:1], "a table has no watermark: write CREATE STREAM for rows that keep coming")
        body["schema"] = parts.columns(columns)
        parts.mark((*keys, "schema"), columns, "columns")
    _read_with(parts, keys, body, cursor, _TABLE_KEYS)
    cursor.expect_end()
    if body.keys().isdisjoint(_TABLE_PLACES):
        raise SqlRefusal((), "where it is stored is missing: WITH (path = 'hosts.parquet'), delta or iceberg")
    parts.parts["relations"][name] = body
    return Declared(tuple(_columns(columns)) or None, None)


def read_function(parts: DocumentParts, cursor: SqlCursor) -> dict[str, str]:
    """Read what follows CREATE FUNCTION and its name: `RETURNS double AS 'module:function'`.

    Returns:
        Where the function is, and the type it returns.
    """
    cursor.expect("returns")
    kind = cursor.until("as")
    cursor.expect("as")
    if not kind:
        raise SqlRefusal(cursor.rest[:1], "the type of what it returns is missing: RETURNS double AS 'module:function'")
    place = cursor.string("where it is, such as 'module:function',")
    cursor.expect_end()
    return {"function": place, "returns": parts.columns(kind)}


def read_setting(parts: DocumentParts, cursor: SqlCursor) -> None:
    """Read what follows SET: a setting of the run, or `max_depth`."""
    for token, key, value in settings_of(cursor):
        keys = (key,) if key == _DEPTH else ("run", key)
        target = parts.parts if len(keys) == 1 else parts.parts["run"]
        if key in target:
            raise SqlRefusal([token], f"{key} is set twice")
        target[key] = value
        parts.mark(keys, [token], f"SET {key}")


@dataclass(frozen=True, slots=True)
class _Watermark:
    """`WATERMARK FOR time AS time - lag`."""

    time: Tokens
    lag: str | int | None
    lag_tokens: Tokens


def _elements(
    parts: DocumentParts, keys: tuple[str, str], body: dict[str, object], cursor: SqlCursor
) -> tuple[Tokens, _Watermark | None, dict[str, str]]:
    """Read the list of columns, and of what may stand among them."""
    watermark: _Watermark | None = None
    parse: dict[str, str] = {}
    if not cursor.is_at_symbol("("):
        return (), None, {}
    inside = cursor.parenthesized().rest
    columns: Tokens = ()
    for element in _elements_of(inside):
        inner = SqlCursor(element)
        if inner.is_at("watermark", "for"):
            watermark = _watermark(inner)
            inner.expect_end()
        elif inner.is_at("parse") and len(element) > 3:
            parse = _parse(parts, keys, body, inner)
            inner.expect_end()
        elif watermark is not None or parse:
            raise SqlRefusal(element, "columns come before WATERMARK and PARSE")
        elif inner.is_at("primary", "key"):
            raise SqlRefusal(element, "what tells rows apart is a setting: WITH (identity = ('topic', 'offset'))")
        elif len(element) > 1 and element[1].is_word("as"):
            raise SqlRefusal(element, "columns are computed in a view: CREATE VIEW v AS SELECT *, ... AS ... FROM ...")
        else:
            columns = tuple(token for token in inside if token.start <= element[-1].start)
    return columns, watermark, parse


def _elements_of(tokens: Tokens) -> list[Tokens]:
    """Cut a list of columns at its commas, but for those inside types such as `map<string,int>`."""
    elements: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        is_column = bool(elements[-1]) and not elements[-1][0].is_word("watermark")
        depth += token.is_symbol("(", "[") or (is_column and token.is_symbol("<"))
        depth -= token.is_symbol(")", "]") or (is_column and token.is_symbol(">"))
        if depth == 0 and token.is_symbol(","):
            elements.append([])
        else:
            elements[-1].append(token)
    if not all(elements):
        raise SqlRefusal(tokens[-1:], "a column is missing between two commas")
    return [tuple(element) for element in elements]


def _watermark(cursor: SqlCursor) -> _Watermark:
    cursor.expect("watermark", "for")
    time = cursor.until("as")
    cursor.expect("as")
    if not time:
        raise SqlRefusal(cursor.rest[:1], "the column of event time is expected here")
    again = tuple(cursor.advance() for _ in range(min(len(time), len(cursor.rest))))
    if spelled(again) != spelled(time):
        raise SqlRefusal(
            again, "a watermark is event time less an interval: WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"
        )
    if not cursor.take_symbol("-"):
        return _Watermark(time, None, ())
    before = cursor.rest
    lag = take_length(cursor)
    return _Watermark(time, lag, before[: len(before) - len(cursor.rest)])


def _parse(parts: DocumentParts, keys: tuple[str, str], body: dict[str, object], cursor: SqlCursor) -> dict[str, str]:
    """Read `PARSE value AS JSON (host STRING, ...) [WITH (...)]` into the stream's body; returns the columns' types.

    Of `PARSE value AS AVRO WITH (registry = '...')` they are in the schema.
    """
    cursor.expect("parse")
    column = cursor.name("the column that holds the text")
    cursor.expect("as")
    word = cursor.advance()
    if not word.is_word(*_FORMATS):
        near_miss = closest_name(word.text, [name.upper() for name in _FORMATS])
        raise SqlRefusal([word], "text is parsed as JSON or CSV, bytes as AVRO", near_miss)
    is_avro = word.is_word(_AVRO)
    if is_avro and cursor.is_at_symbol("("):
        says = "the columns of records of Avro are in their schema: WITH (schema_file = '...') or (registry = '...')"
        raise SqlRefusal(cursor.parenthesized().rest, says)
    schema = () if is_avro else cursor.parenthesized().rest
    options = [*settings_of(cursor.parenthesized())] if cursor.take("with") else []
    for token, key, _ in options:
        if key in _PLACES:
            raise SqlRefusal(
                [token],
                f"WITH right behind PARSE has options of the parser: {key} belongs to the stream's own WITH at the end",
            )
    said = {key: value for _, key, value in options}
    parsed: dict[str, object] = {word.text.lower(): name_of(column)}
    parts.mark((*keys, "parse"), [column], "PARSE")
    if is_avro:
        parsed |= said
        for token, key, _ in options:
            parts.mark((*keys, "parse", key), [token], "PARSE")
    else:
        parsed |= {"schema": parts.columns(schema), **({"options": said} if said else {})}
        parts.mark((*keys, "parse", "schema"), schema, "PARSE")
    body["parse"] = parsed
    return _columns(schema)


def _read_with(
    parts: DocumentParts, keys: tuple[str, str], body: dict[str, object], cursor: SqlCursor, known_keys: tuple[str, ...]
) -> None:
    if not cursor.take("with"):
        return
    for token, key, value in settings_of(cursor.parenthesized()):
        if key not in known_keys:
            says = f'unknown setting "{key}", known are: {", ".join(known_keys)}'
            raise SqlRefusal([token], Problem(says, name=key), our_word(key, known_keys))
        place: tuple[str, ...] = (*keys, key)
        if key in _RATE_KEYS:
            place = (*keys, "source", "rate", key)
        elif keys[0] == "streams" and key in _SOURCE_KEYS:
            place = (*keys, "source", key)
        target: dict[str, object] = body
        for step in place[2:-1]:
            target = target.setdefault(step, {})  # type: ignore[assignment]
        if key in target:
            raise SqlRefusal([token], f"{key} is given twice")
        target[key] = value
        parts.mark(place, [token], "WITH")


def _set_time(
    parts: DocumentParts,
    keys: tuple[str, str],
    body: dict[str, object],
    watermark: _Watermark,
    typed: Mapping[str, str],
) -> None:
    """Event time, or numbers where the column holds whole numbers; the columns' types tell, else the lag."""
    column = unquoted_name(watermark.time)
    types = {name.lower(): kind for name, kind in typed.items()}
    kind = types.get((column or "").lower())
    is_number = kind in _NUMBERS if kind is not None else isinstance(watermark.lag, int) and column is not None
    key = "number" if is_number else "time"
    body[key] = parts.text(watermark.time) if column is None else column
    parts.mark((*keys, key), watermark.time, "WATERMARK")
    if watermark.lag is not None and watermark.lag != 0:
        body["watermark"] = watermark.lag
        parts.mark((*keys, "watermark"), watermark.lag_tokens, "WATERMARK")


def _columns(tokens: Tokens) -> dict[str, str]:
    """The types of columns by name, the first words of what stands in a list of columns."""
    if not tokens:
        return {}
    return {
        name_of(element[0]): next((token.text.lower() for token in element[1:] if not token.is_symbol(":")), "")
        for element in _elements_of(tokens)
    }


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
