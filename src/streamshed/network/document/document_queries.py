"""Reading the queries of a document, each below a node that is read already."""

from collections.abc import Mapping

from streamshed.network.document.document_aggregates import read_aggregate
from streamshed.network.document.document_operators import OperatorReader
from streamshed.network.document.document_values import is_given, text_at
from streamshed.network.document.schema_operators import GOALS
from streamshed.network.model.node import Node
from streamshed.network.model.query import Query
from streamshed.network.words.document_problem import Place
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
    goals = GOALS.values(place, body)
    if rows is None or named_wrongly or (is_given(place, body, "weight") and "weight" not in goals):
        return None
    queried_node: Node = rows
    if is_given(place, body, "window") or is_given(place, body, "aggregates"):
        if aggregate is None:
            return None
        queried_node = aggregate
    return place.attempt(name, lambda: Query(name, queried_node, **goals))
