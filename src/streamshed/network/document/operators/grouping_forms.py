"""Windows, keys and aggregates: of queries, and of operators whose answers are aggregated again."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from streamshed.network.document.document_values import (
    LengthUnit,
    indexed_texts,
    is_given,
    mapping_at,
    read_length,
    written_length,
)
from streamshed.network.document.operators.operator_form import FROM, Body, Context, OperatorForm
from streamshed.network.document.section import Field, Section
from streamshed.network.model.grouping import Aggregate, GroupKey, NamedAnswer
from streamshed.network.model.node import Node
from streamshed.network.sql.expression import parse_expression, quoted
from streamshed.network.terms.aggregate import AggregateCall, AggregateKind, user_aggregate
from streamshed.network.terms.derivation import Answered
from streamshed.network.terms.problems import unknown_column
from streamshed.network.terms.window import WindowSpecification
from streamshed.network.words.columns import declared_name
from streamshed.network.words.document_problem import Place, problems_of
from streamshed.network.words.numbering import format_rows, is_row_count
from streamshed.network.words.schema_forms import Schema, by_name, length, names, reference, sql, text

_COUNT = AggregateCall(AggregateKind.COUNT, None)


def _length_text(window: WindowSpecification, microseconds: int) -> str | int:
    return (
        format_rows(microseconds)
        if window.is_by_count
        else written_length(microseconds, is_numbered=window.is_numbered)
    )


def _slide_text(window: WindowSpecification) -> str | int | None:
    return None if window.is_tumbling else _length_text(window, window.slide_microseconds)


def _offset_text(window: WindowSpecification) -> str | int | None:
    return _length_text(window, window.offset_microseconds) if window.offset_microseconds else None


_LENGTH = {"title": "duration, whole number or rows"}
WINDOW = Section(
    "Windows over event time (`5 minutes`), along the numbers of a stream (`1000`), or of rows per group (`100 rows`).",
    {
        "size": Field(
            length("Length of a window.", "5 minutes") | {"examples": ["5 minutes", "100 rows"]} | _LENGTH,
            "size_microseconds",
            reader=read_length,
            part=lambda window: _length_text(window, window.size_microseconds),
        ),
        "slide": Field(
            length("Distance between window starts, at most the size. By default the size.", "10 seconds") | _LENGTH,
            "slide_microseconds",
            reader=read_length,
            part=_slide_text,
        ),
        "offset": Field(
            length(
                "Start of the first window after 1970-01-01 00:00:00 UTC, or after 0. Not for windows of rows.",
                "0 seconds",
                default="0 seconds",
            ),
            "offset_microseconds",
            reader=read_length,
            part=_offset_text,
        ),
    },
    ("size",),
)


def _read_window(place: Place, body: Body, context: Context) -> WindowSpecification | None:
    is_by_count = is_row_count(body.get("size"))
    is_numbered = None if context.node is None else context.node.stream.is_numbered
    lengths = WINDOW.values(place, body, context=LengthUnit(is_numbered, is_by_count))
    size = lengths.get("size_microseconds")
    if size is None:
        return None
    window = partial(WindowSpecification, is_numbered=bool(is_numbered) or is_by_count, is_by_count=is_by_count)
    if place.at("size").attempt(body["size"], lambda: window(size, size)) is None:
        return None
    if any(is_given(place, body, key) and f"{key}_microseconds" not in lengths for key in ("slide", "offset")):
        return None
    return place.at("slide").attempt(body.get("slide"), lambda: window(**{"slide_microseconds": size} | lengths))


def _read_keys(place: Place, items: list[Any], context: Context) -> tuple[GroupKey, ...] | None:
    keys: list[GroupKey | None] = []
    for index, item in enumerate(items):
        if isinstance(item, str):
            keys.append(_column_key(place.at(index), item, context.node))
        elif isinstance(item, dict):
            keys += [_sql_key(place.at(index, name), name, written, context) for name, written in item.items()]
        else:
            keys.append(None)
    usable_keys = tuple(key for key in keys if key is not None)
    return usable_keys if len(usable_keys) == len(keys) else None


def _column_key(place: Place, name: str, node: Node | None) -> GroupKey | None:
    if node is not None and declared_name(name, node.columns) is None:
        place.report_all(name, [unknown_column(name, node.columns)])
        return None
    return _key(place, name, GroupKey(name, parse_expression(quoted(name))), node)


def _sql_key(place: Place, name: str, written: object, context: Context) -> GroupKey | None:
    expression = context.sql.expression(place, written) if isinstance(written, str) else None
    return None if expression is None else _key(place, written, GroupKey(name, expression), context.node)


def _key(place: Place, written: object, key: GroupKey, node: Node | None) -> GroupKey | None:
    """Report what the model says of a key by itself."""
    call = ("b" if key.name.lower().startswith("a") else "a", _COUNT)
    problems = () if node is None else problems_of(lambda: Aggregate(node, _some_window(node), (key,), (call,)))
    place.report_all(written, problems)
    return None if problems else key


def _key_text(key: GroupKey) -> str | dict[str, str]:
    """A column by its name alone, other keys with their SQL."""
    is_column = key.expression == parse_expression(quoted(key.name))
    return key.name if is_column else {key.name: key.expression.text}


_BY: Schema = {
    "type": "array",
    "items": {
        "type": ["string", "object"],
        "additionalProperties": sql("What to group by.", "src_port div 1000"),
        "minLength": 1,
        "minProperties": 1,
        "maxProperties": 1,
    },
    "uniqueItems": True,
    "default": [],
    "description": "Keys: columns, or `{name: SQL}`. Null is a group, too.",
    "examples": [["subnet", {"port_class": "src_port div 1000"}]],
}
_USER = Section(
    "The call, or an aggregate of your own.",
    {
        "user": Field(
            text("`module:class`, with the methods `init`, `incr` and `final`."),
            "function",
            write=lambda function: function.name,
        ),
        "columns": Field(
            {**names("The columns that `incr` takes, in order.", ["price"]), "uniqueItems": False},
            read=lambda items: [*indexed_texts(items).values()] or None,
            write=list,
        ),
        "returns": text("Type that `final` returns.", title="DDL", examples=["double"]),
        "where": Field(sql("The rows that `incr` takes. By default all rows.", "price > 0"), write=str),
    },
    ("user", "columns", "returns"),
)


def _read_answers(place: Place, body: Body, context: Context) -> tuple[NamedAnswer, ...] | None:
    answers = [(name, _read_answer(place.at(name), name, written, context)) for name, written in body.items()]
    sound = tuple((name, answer) for name, answer in answers if answer is not None)
    return sound if len(sound) == len(answers) > 0 else None


def _read_answer(place: Place, name: str, written: object, context: Context) -> Answered | None:
    answer = context.sql.answer(place, written) if isinstance(written, str) else _read_user_call(place, written)
    if answer is None or context.node is None:
        return answer
    node = context.node
    problems = problems_of(lambda: Aggregate(node, _some_window(node), (), ((name, answer),)))
    place.report_all(written, problems)
    return None if problems else answer


def _read_user_call(place: Place, body: object) -> AggregateCall | None:
    values = _USER.read(place, body) if isinstance(body, dict) and not place.is_unusable else None
    return None if values is None else place.attempt(values["function"], lambda: user_aggregate(**values))


def _answer_text(answer: Answered) -> str | dict[str, Any]:
    if not isinstance(answer, AggregateCall) or answer.user is None or answer.kind is not AggregateKind.USER:
        return str(answer)
    return _USER.written(answer.user)


def _some_window(node: Node) -> WindowSpecification:
    """A window to check with what does not depend on it."""
    return WindowSpecification(1, 1, 0, node.stream.is_numbered)


_AGGREGATES = Field(
    by_name(
        "Names and calls: `count`, `count_if`, `sum`, `avg`, `min`, `max`, `variance`, `var_pop`, `stddev`,"
        " `stddev_pop`, `median`, `percentile_approx(x, 0.95)`, `approx_count_distinct`, `count(DISTINCT ...)`,"
        " `bool_or`, `bool_and`, `any_value`; with `FILTER (WHERE ...)`; arithmetic of calls; your own (`user`).",
        {
            "type": ["string", "object"],
            "minLength": 1,
            "description": _USER.description,
            "examples": ["sum(size)", {"user": "stocks:LastPrice", "columns": ["price"], "returns": "double"}],
            "properties": _USER.properties,
            "required": list(_USER.required),
            "additionalProperties": False,
        },
        minProperties=1,
        examples=[{"bytes": "sum(size)", "packets": "count(*)"}],
    ),
    reader=_read_answers,
    write=lambda answers: {name: _answer_text(answer) for name, answer in answers},
)
_WINDOW = Field(reference("window"), "over", reader=_read_window, write=WINDOW.written)
GROUPING = Section(
    "What is aggregated over which windows.",
    {
        "window": _WINDOW,
        "by": Field(_BY, "keys", reader=_read_keys, write=lambda keys: [_key_text(key) for key in keys] or None),
        "aggregates": _AGGREGATES,
    },
    ("window", "aggregates"),
)


def read_aggregate(place: Place, body: Body, context: Context) -> Aggregate | None:
    """Read `window`, `by` and `aggregates`; None: there are problems, or nothing is aggregated."""
    values, rows = GROUPING.read(place, body, context=context), context.node
    if rows is None or values is None or place.at("by").is_unusable:
        return None
    aggregate = partial(Aggregate, rows, **{"keys": ()} | values)
    if problems := problems_of(aggregate):
        for problem in problems:
            part = "by" if problem.element == "by" else "aggregates"
            place.at(part).report_all([*mapping_at(body, part)] or body.get(part), [problem])
        return None
    return aggregate()


def _replaced(field: Field, description: str) -> Field:
    return replace(field, schema=field.schema | {"description": description})


_AGGREGATE = Section(
    "Aggregates windows. The answers are rows with `window_start` and `window_end` (along numbers `window_from` and "
    "`window_until`), keys and aggregates. Their event time is the window's start; they can be aggregated again. "
    "Queries over them are `exact` or `subset`. A window without rows has no answer.",
    {
        "aggregates": _replaced(_AGGREGATES, "As in a query, except quantiles and `approx_count_distinct`."),
        "from": FROM,
        "window": _replaced(_WINDOW, "The windows; not of a number of rows."),
        "by": GROUPING.fields["by"],
    },
    ("aggregates", "from", "window"),
)
AGGREGATE = OperatorForm(
    _AGGREGATE.schema,
    read_aggregate,
    lambda node: {"from": node.input} | GROUPING.said(node) if isinstance(node, Aggregate) else None,
)
