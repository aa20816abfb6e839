"""Queries: what is asked of rows or windows, and how much it matters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from streamshed.errors import InvalidNetworkError
from streamshed.network.document.document_values import is_given
from streamshed.network.document.operators.grouping_forms import GROUPING, read_aggregate
from streamshed.network.document.operators.operator_form import FROM, Body, Context
from streamshed.network.document.operators.row_forms import predicate_field, read_filter
from streamshed.network.document.section import Field, Section, checked
from streamshed.network.model.node import Node
from streamshed.network.model.query import AnswerMode, Query
from streamshed.network.terms.gap import GapsBy, GapTolerance, gap_tolerance
from streamshed.network.terms.goal import error_goal
from streamshed.network.words.document_problem import Place
from streamshed.network.words.duration import parse_duration
from streamshed.network.words.given import is_finite
from streamshed.network.words.names import name_problem
from streamshed.network.words.schema_forms import choice, duration, mapping, number, sql, whole_number


def _finite(weight: float) -> float:
    if not is_finite(weight):
        raise InvalidNetworkError("expected a finite number")
    return weight


_ROWS = Section(
    "Which rows are asked for.",
    {
        "from": FROM,
        "where": predicate_field(sql("Keeps the rows for which this is true. By default all rows.", "size >= 1000")),
    },
)
_GOALS = Section(
    "What a query asks of its answers.",
    {
        "weight": Field(
            number("How much its error counts beside that of other queries.", minimum=0, default=1), read=_finite
        ),
        "priority": Field(whole_number("Queries of higher priority are shed last.", default=0), read=int),
        "mode": choice(
            "Under overload: `approximate` estimates every window, with bounds; `exact` is never shed; `subset` answers"
            " exactly, but drops windows.",
            list(AnswerMode),
            default=str(AnswerMode.APPROXIMATE),
        ),
        "gaps_by": choice(
            "Mode `subset`: `window` drops a window for all groups; `group` drops different windows per group.",
            list(GapsBy),
            default=str(GapsBy.WINDOW),
        ),
        "max_error": Field(
            {
                "type": ["string", "number"],
                "description": "Goal for approximate answers: `2 % at 95 %` (or 0.02) means that 95 % of them are"
                " within 2 %. Rows for goals come first, as far as the load allows.",
                "examples": ["2 % at 95 %", 0.02],
            },
            read=error_goal,
            write=str,
        ),
        "max_gap": Field(
            {
                "type": ["string", "integer"],
                "minimum": 0,
                "title": "whole number or duration",
                "description": "Mode `subset`: the most windows in a row that may be missing, or for how long (not"
                " along numbers); 0: none. By default 1.",
                "examples": [5, "10 minutes"],
            },
            read=gap_tolerance,
            write=GapTolerance.written,
        ),
        "latency": Field(
            duration(
                "The goal from a row's arrival to its answer, longer than the trigger. The shortest goal, the run's"
                " included, holds for all queries of a `clock`. By default that of the run.",
                "5 seconds",
            ),
            read=checked(parse_duration),
        ),
    },
)
QUERY = mapping(
    "With `window` and `aggregates`: an answer per window, group and aggregate. Without both: the rows.",
    _ROWS.properties | GROUPING.properties | _GOALS.properties,
    "from",
    dependentRequired={"window": ["aggregates"], "aggregates": ["window"], "by": ["window", "aggregates"]},
)


def read_query(place: Place, body: Body, context: Context) -> Query | None:
    """Read one query.

    Args:
        place: Where it stands, and where its problems go.
        body: What the document says of it, as far as its shape is right.
        context: What it is read with.

    Returns:
        The query; None where it has problems.
    """
    name = context.name
    if (named_wrongly := name_problem("query", name)) is not None:
        place.report_all(name, [named_wrongly])
    rows = read_filter(place, body, context, _ROWS)
    aggregate = read_aggregate(place, body, replace(context, node=rows))
    goals = _GOALS.values(place, body)
    if rows is None or named_wrongly or (is_given(place, body, "weight") and "weight" not in goals):
        return None
    queried_node: Node = rows
    if is_given(place, body, "window") or is_given(place, body, "aggregates"):
        if aggregate is None:
            return None
        queried_node = aggregate
    return place.attempt(name, lambda: Query(name, queried_node, **goals))


def written_query(query: Query) -> dict[str, Any]:
    """Write a query; the node that its rows come from stays a node."""
    grouping = {} if query.aggregate is None else GROUPING.written(query.aggregate)
    return {"from": query.rows, **grouping, **_GOALS.said(query)}
