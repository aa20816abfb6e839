"""What a document says as SQL statements that say the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from streamshed.errors import InvalidNetworkError
from streamshed.network.source.kafka_source import topic_identity
from streamshed.network.sql_text.declarations import columns_given_by
from streamshed.network.sql_text.overload_clause import written_overload
from streamshed.network.sql_text.sql_tokens import tokens_of
from streamshed.network.sql_text.written_selects import Body, SelectWriter, can_hold, interval
from streamshed.network.sql_text.written_values import identifier, literal
from streamshed.network.words.columns import parse_schema
from streamshed.network.words.function_names import AGGREGATE_FUNCTIONS

_LONGEST_LINE = 100


def written_sql(document: Mapping[str, Any]) -> str:
    """Write a document as SQL.

    Args:
        document: What it says, by its keys. Every join says its `prefixes`, every lookup of which some columns are
            added its `columns`.

    Raises:
        InvalidNetworkError: Two things have a name that SQL has for one only.

    Example:
        >>> print(written_sql({
        ...     "streams": {"ticks": {"source": {"rate": {"rows_per_second": 10}}, "time": "timestamp"}},
        ...     "operators": {"large": {"from": "ticks", "filter": "value > 3"}},
        ...     "queries": {"n": {"from": "large", "window": {"size": "1 minute"}, "aggregates": {"n": "count(*)"}}},
        ... }), end="")
        CREATE STREAM ticks
        WATERMARK FOR timestamp AS timestamp
        WITH (rows_per_second = 10);
        <BLANKLINE>
        CREATE QUERY n AS
        SELECT count(*) AS n
        FROM ticks
        WHERE value > 3
        GROUP BY window(timestamp, '1 minute');
    """
    return "\n\n".join(f"{statement};" for statement in _statements(document)) + "\n"


def _statements(document: Mapping[str, Any]) -> Iterator[str]:
    operators, queries = _with_filters(document)
    relations = {name: _columns(body.get("schema")) for name, body in document.get("relations", {}).items()}
    _check_names(document, operators)
    functions = _functions(document, operators, queries)
    uses = Counter(
        body[key] for body in (*operators.values(), *queries.values()) for key in ("from", "join") if key in body
    )
    holders = {body["from"]: body for body in operators.values()}
    holders |= {body["from"]: body if "aggregates" in body else None for body in queries.values()}
    views = frozenset(
        name
        for name, body in operators.items()
        if uses[name] != 1
        or not can_hold(body, holders.get(name), relations)
        or any(other.get("join") == name for other in operators.values())
    )
    times = _times(document["streams"], operators)
    writer = SelectWriter(operators, relations, functions, times, views, _view_names(views, operators, relations))
    yield from _settings(document)
    for name, body in document["streams"].items():
        yield _stream(name, body)
    for name, body in document.get("relations", {}).items():
        yield _relation(name, body)
    for (place, kind), called in functions.items():
        is_aggregate = any(place == said[0] for said in _user_aggregates(operators, queries))
        word = "AGGREGATE FUNCTION" if is_aggregate else "FUNCTION"
        yield f"CREATE {word} {identifier(called)} RETURNS {kind} AS {literal(place)}"
    for name in _in_order(operators):
        if name in views and uses[name]:
            yield _view(name, operators[name], writer)
    for name, body in queries.items():
        overload = written_overload(body)
        yield f"CREATE QUERY {identifier(name)} AS\n{writer.query(body)}" + (f"\n{overload}" if overload else "")


def _with_filters(document: Mapping[str, Any]) -> tuple[dict[str, Body], dict[str, Body]]:
    """The operators, and the queries without `where`: that is an operator of its own."""
    operators, queries = dict(document.get("operators", {})), {}
    for name, body in document["queries"].items():
        queries[name] = body
        if "where" in body:
            filtered = f"{name}_where"
            while filtered in operators or filtered in document["streams"]:
                filtered += "_"
            operators[filtered] = {"from": body["from"], "filter": body["where"]}
            queries[name] = {**{key: value for key, value in body.items() if key != "where"}, "from": filtered}
    return operators, queries


def _check_names(document: Mapping[str, Any], operators: Mapping[str, Body]) -> None:
    streams = {*document["streams"], *(name for name, body in operators.items() if "join" in body)}
    folded = {name.lower() for name in streams}
    for name in document.get("relations", {}):
        if name.lower() in folded:
            raise InvalidNetworkError(f'a stream and a relation are named "{name}": SQL could not tell them apart')


def _view_names(
    views: frozenset[str], operators: Mapping[str, Body], relations: Mapping[str, object]
) -> dict[str, str]:
    """What views are called: as the operators are, but for names of relations."""
    taken = {name.lower() for name in (*relations, *operators)}
    names = {}
    for name in views:
        called = name
        while called.lower() in {relation.lower() for relation in relations} or (
            called != name and called.lower() in taken
        ):
            called += "_rows"
        names[name] = called
    return names


def _settings(document: Mapping[str, Any]) -> Iterator[str]:
    settings = {key: value for key, value in document.items() if key == "max_depth"}
    settings |= document.get("run", {})
    if settings:
        yield "\n".join(f"SET {key} = {literal(value)};" for key, value in settings.items())[:-1]


def _stream(name: str, body: Body) -> str:
    source = body["source"]
    if "rate" in source:
        columns, settings = None, dict(source["rate"])
    else:
        columns, settings = source.get("schema"), {key: source[key] for key in source if key != "schema"}
    kinds = ("identity", "idle_after", "clock", "max_ahead")
    settings |= {key: body[key] for key in kinds if key in body and not _is_default_identity(key, body[key], source)}
    lines = [f"CREATE STREAM {identifier(name)}" + ("" if columns is None else f" ({_wrapped(columns)})")]
    if "parse" in body:
        lines.append(_parse(body["parse"]))
    time, lag = _time(body), body.get("watermark")
    behind = f" - {lag or 0}" if "number" in body else "" if lag is None else f" - {interval(lag)}"
    lines += [f"WATERMARK FOR {time} AS {time}{behind}", f"WITH {literal(settings)}"]
    return "\n".join(lines)


def _parse(parse: Body) -> str:
    kind = next(kind for kind in ("json", "csv", "avro") if kind in parse)
    head = f"PARSE {identifier(parse[kind])} AS {kind.upper()}"
    if kind == "avro":
        return f"{head} WITH {literal({key: parse[key] for key in parse if key != kind})}"
    options = f" WITH {literal(parse['options'])}" if "options" in parse else ""
    return f"{head} ({_wrapped(parse['schema'])}){options}"


def _relation(name: str, body: Body) -> str:
    columns = f" ({body['schema']})" if "schema" in body else ""
    return (
        f"CREATE TABLE {identifier(name)}{columns} WITH {literal({key: body[key] for key in body if key != 'schema'})}"
    )


def _view(name: str, body: Body, writer: SelectWriter) -> str:
    if "join" not in body:
        select, settings = writer.view(name), ""
    else:
        said, select = writer.join(body)
        settings = f" WITH {literal(said)}" if said else ""
    head = f"CREATE VIEW {identifier(writer.names[name])}{settings} AS"
    is_short = "\n" not in select and len(head) + len(select) < _LONGEST_LINE
    return f"{head}{' ' if is_short else chr(10)}{select}"


def _is_default_identity(key: str, value: object, source: Body) -> bool:
    if key != "identity":
        return False
    if "kafka" in source:
        return value == [*topic_identity(source.get("prefix", ""))]
    is_parquet = "folder" in source and source.get("format", "parquet") == "parquet"
    default: object = "file_row" if is_parquet else "none"
    return value == (["value"] if "rate" in source else default)


def _time(body: Body) -> str:
    """Event time, or the number, as an expression: a column's name may need quotes."""
    time: str = body.get("time") or body["number"]
    source = body["source"]
    parse = body.get("parse", {})
    schemas = [source.get("schema"), None if "avro" in parse else parse.get("schema"), columns_given_by(source)]
    columns = {column for schema in schemas for column in _columns(schema) or ()}
    if "avro" in parse:
        from streamshed.network.words.avro_schema import avro_columns

        columns |= {column.name for column in avro_columns(parse["schema"])}
    return identifier(time) if time in columns or "number" in body else time


def _times(streams: Mapping[str, Body], operators: Mapping[str, Body]) -> dict[str, str]:
    """What event time of each stream and operator is called."""
    times = {name: _time(body) for name, body in streams.items()}
    for name in _in_order(operators):
        body = operators[name]
        if "join" in body:
            times[name] = identifier(body.get("time", "time"))
        elif "aggregates" in body:
            size = body["window"]["size"]
            times[name] = "window_from" if isinstance(size, int) or "row" in size else "window_start"
        else:
            times[name] = times[body["from"]]
    return times


def _in_order(operators: Mapping[str, Body]) -> list[str]:
    """The operators, each after the ones that its rows come from."""
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        if name in operators and name not in order:
            for key in ("from", "join"):
                if key in operators[name]:
                    visit(operators[name][key])
            order[name] = None

    for name in operators:
        visit(name)
    return [*order]


def _user_aggregates(operators: Mapping[str, Body], queries: Mapping[str, Body]) -> Iterator[tuple[str, str]]:
    for body in (*operators.values(), *queries.values()):
        for answer in body.get("aggregates", {}).values():
            if isinstance(answer, Mapping):
                yield answer["user"], answer["returns"]


def _functions(
    document: Mapping[str, Any], operators: Mapping[str, Body], queries: Mapping[str, Body]
) -> dict[tuple[str, str], str]:
    """What Python functions are called, by place and returned type: no name that an expression calls otherwise."""
    places = [(body["apply"], body["returns"]) for body in operators.values() if "apply" in body]
    texts = str((document.get("operators"), document["queries"]))
    taken = {*AGGREGATE_FUNCTIONS, *re.findall(r"(\w+)\s*\(", texts.lower())}
    functions: dict[tuple[str, str], str] = {}
    for place in (*places, *_user_aggregates(operators, queries)):
        called = re.sub(r"\W", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", place[0].rpartition(":")[2])).lower()
        while called in taken or not called[0].isalpha():
            called = f"my_{called}"
        if place not in functions:
            functions[place] = called
            taken.add(called)
    return functions


def _columns(schema: str | None) -> tuple[str, ...] | None:
    return None if schema is None else tuple(column.name for column in parse_schema(schema))


def _wrapped(columns: str) -> str:
    """A list of columns, in lines of a readable length."""
    if len(columns) <= _LONGEST_LINE - 30:
        return columns
    pieces, depth, start = [], 0, 0
    for token in tokens_of(columns):
        depth += token.is_symbol("(", "<") - token.is_symbol(")", ">")
        if depth == 0 and token.is_symbol(","):
            pieces.append(columns[start : token.end].strip())
            start = token.end
    lines = [""]
    for piece in (*pieces, columns[start:].strip()):
        if len(lines[-1]) + len(piece) > _LONGEST_LINE:
            lines.append("")
        lines[-1] += f"{' ' if lines[-1] else ''}{piece}"
    return "\n  " + "\n  ".join(lines) + "\n"
