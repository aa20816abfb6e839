"""Reading the queries of a document, each below a node that is read already."""

from collections.abc import Mapping

from streamshed.network.document.document_aggregates import read_aggregate
from streamshed.network.document.document_operators import OperatorReader
from streamshed.network.document.document_values import is_given, text_at
from streamshed.network.model.node import Node
from streamshed.network.model.query import AnswerMode, Query
from streamshed.network.terms.gap import GapsBy, GapTolerance, gap_tolerance
from streamshed.network.terms.goal import ErrorGoal, error_goal
from streamshed.network.words.document_problem import Place
from streamshed.network.words.duration import parse_duration
from streamshed.network.words.given import is_finite
from streamshed.network.words.names import name_problem


def read_query(
    place: Place, name: str, body: Mapping[str, object], node: Node | None, operators: OperatorReader
) -> Query | None:
    """Read one query.

    Args:
        place: Where it stands, and where its problems go.
        name: Its name.
        body: What the document says of it, as far as its shape is right.
        node: Where its rows come from; None: not known, so that columns are not checked.
        operators: Reads its `where`.

    Returns:
        The query; None where it has problems.
    """
    if (named_wrongly := name_problem("query", name)) is not None:
        place.report_all(name, [named_wrongly])
    rows = operators.filter(place.at("where"), text_at(body, "where"), node)
    aggregate = read_aggregate(place, body, rows, operators.sql)
    weight = _read_weight(place.at("weight"), body.get("weight", 1))
    goal = _read_goal(place.at("max_error"), body.get("max_error"))
    gap = _read_gap(place.at("max_gap"), body.get("max_gap"))
    by = text_at(body, "gaps_by") or GapsBy.WINDOW
    latency = _read_latency(place.at("latency"), text_at(body, "latency"))
    if rows is None or named_wrongly or weight is None:
        return None
    queried_node: Node = rows
    if is_given(place, body, "window") or is_given(place, body, "aggregates"):
        if aggregate is None:
            return None
        queried_node = aggregate
    priority, mode = body.get("priority"), text_at(body, "mode") or AnswerMode.APPROXIMATE
    return place.attempt(
        name,
        lambda: Query(
            name,
            queried_node,
            weight,
            int(priority) if isinstance(priority, int | float) else 0,
            AnswerMode(mode),
            goal,
            gap,
            GapsBy(by),
            latency,
        ),
    )


def _read_latency(place: Place, latency: str | None) -> str | None:
    if latency is None or place.is_unusable or place.attempt(latency, lambda: parse_duration(latency)) is None:
        return None
    return latency


def _read_goal(place: Place, goal: object) -> ErrorGoal | None:
    if goal is None or place.is_unusable:
        return None
    return place.attempt(goal, lambda: error_goal(goal))


def _read_gap(place: Place, gap: object) -> GapTolerance | None:
    if gap is None or place.is_unusable:
        return None
    return place.attempt(gap, lambda: gap_tolerance(gap))


def _read_weight(place: Place, weight: object) -> float | None:
    if not isinstance(weight, int | float) or place.is_unusable:
        return None
    if not is_finite(weight):
        place.report(weight, "expected a finite number")
        return None
    return float(weight)
