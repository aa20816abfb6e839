"""Operators over single rows: filters, maps and functions of users."""

from __future__ import annotations

from streamshed.network.document.document_values import indexed_texts, mapping_at
from streamshed.network.document.operators.operator_form import FROM, Body, Context, OperatorForm, with_columns
from streamshed.network.document.section import Field, Section
from streamshed.network.model.node import Node
from streamshed.network.model.operators import Apply, Filter, Map, written_problems
from streamshed.network.sql.expression import Expression
from streamshed.network.terms.function import function_reference
from streamshed.network.terms.problems import unknown_column
from streamshed.network.words.columns import declared_name, duplicate_names, normal_type
from streamshed.network.words.document_problem import Place, problems_of
from streamshed.network.words.schema_forms import Schema, by_name, names, sql, text


def _read_predicate(place: Place, written: str, context: Context) -> Expression | None:
    predicate = context.sql.expression(place, written)
    if predicate is None or context.node is None:
        return None
    node = context.node
    problems = problems_of(lambda: Filter(node, predicate))
    place.report_all(written, problems)
    return None if problems else predicate


def predicate_field(schema: Schema) -> Field:
    """A key with a predicate over the rows that come in."""
    return Field(schema, "predicate", reader=_read_predicate, write=lambda predicate: predicate.text)


_FILTER = Section(
    "Keeps the rows for which a predicate is true.",
    {"filter": predicate_field(sql("The predicate.", "dest_port IN (80, 443)")), "from": FROM},
    ("filter", "from"),
)


def read_filter(place: Place, body: Body, context: Context, section: Section = _FILTER) -> Node | None:
    """Read what keeps rows; where it has problems they stay as they are."""
    values, node = section.values(place, body, context=context), context.node
    return Filter(node, **values) if values and node is not None else node


FILTER = OperatorForm(
    _FILTER.schema, read_filter, lambda node: _FILTER.written(node) if isinstance(node, Filter) else None
)


def _read_assignments(place: Place, body: Body, context: Context) -> tuple[tuple[str, Expression], ...] | None:
    texts = {name: written for name, written in body.items() if isinstance(written, str)}
    read = {name: _read_assignment(place.at(name), name, written, context) for name, written in texts.items()}
    duplicates = () if context.node is None else duplicate_names(body)
    place.report_all(list(body), duplicates)
    sound = [(name, expression) for name, expression in read.items() if expression is not None]
    return tuple(sound) if len(sound) == len(body) > 0 and not duplicates else None


def _read_assignment(place: Place, name: str, written: str, context: Context) -> Expression | None:
    expression = context.sql.expression(place, written)
    if expression is None or context.node is None:
        return None
    node = context.node
    problems = problems_of(lambda: Map(node, ((name, expression),)))
    place.report_all(written, problems)
    return None if problems else expression


_MAP = Section(
    "Adds or replaces columns, each computed from the columns before. Event time cannot be replaced.",
    {
        "map": Field(
            by_name(
                "The columns, and how to compute them.",
                sql("How to compute the column.", "size / 1024"),
                minProperties=1,
                examples=[{"kilobytes": "size / 1024"}],
            ),
            "assignments",
            reader=_read_assignments,
            write=lambda assignments: {name: expression.text for name, expression in assignments},
        ),
        "from": FROM,
    },
    ("map", "from"),
)


def _read_map(place: Place, body: Body, context: Context) -> Node | None:
    values, node = _MAP.values(place, body, context=context), context.node
    if node is None or place.at("map").is_unusable:
        return None
    return Map(node, **values) if values else with_columns(node, mapping_at(body, "map"))


MAP = OperatorForm(_MAP.schema, _read_map, lambda node: _MAP.written(node) if isinstance(node, Map) else None)


_APPLY = Section(
    "Adds a column that a vectorized Python function computes.",
    {
        "apply": Field(
            text("`module:function`: takes a pandas Series per column, returns one.", examples=["scores:anomaly"]),
            "function",
            read=function_reference,
            write=lambda function: function.name,
        ),
        "from": FROM,
        "columns": Field(
            {**names("The columns that it takes, in order.", ["size"]), "uniqueItems": False},
            "arguments",
            read=indexed_texts,
            write=list,
        ),
        "into": text("Name of the new column.", examples=["score"]),
        "returns": Field(text("Type of the new column.", title="DDL", examples=["double"]), read=normal_type),
    },
    ("apply", "from", "columns", "into", "returns"),
)


def _read_apply(place: Place, body: Body, context: Context) -> Node | None:
    values, node = _APPLY.values(place, body), context.node
    if node is None or "into" not in values:
        return None
    columns, into = values.get("arguments", {}), values["into"]
    unknown = [index for index, name in columns.items() if declared_name(name, node.columns) is None]
    for index in unknown:
        place.at("columns", index).report_all(columns[index], [unknown_column(columns[index], node.columns)])
    misplaced = written_problems(into, node)
    place.at("into").report_all(into, misplaced)
    if not ({"function", "returns"} <= values.keys() and columns) or unknown or misplaced:
        return with_columns(node, [into])
    return place.attempt(body["apply"], lambda: Apply(node, **values | {"arguments": tuple(columns.values())}))


APPLY = OperatorForm(_APPLY.schema, _read_apply, lambda node: _APPLY.written(node) if isinstance(node, Apply) else None)
