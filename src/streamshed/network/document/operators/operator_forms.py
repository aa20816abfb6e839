"""All operators that a document knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamshed.errors import InvalidNetworkError
from streamshed.network.document.document_values import is_given
from streamshed.network.document.operators.grouping_forms import AGGREGATE
from streamshed.network.document.operators.join_form import JOIN
from streamshed.network.document.operators.lookup_forms import LOOKUP, SEMIJOIN
from streamshed.network.document.operators.operator_form import Body, Context, OperatorForm
from streamshed.network.document.operators.row_forms import APPLY, FILTER, MAP
from streamshed.network.model.node import Node
from streamshed.network.words.document_problem import Place

OPERATORS: Mapping[str, OperatorForm] = {
    "filter": FILTER,
    "map": MAP,
    "lookup": LOOKUP,
    "semijoin": SEMIJOIN,
    "join": JOIN,
    "apply": APPLY,
    "aggregate": AGGREGATE,
}
"""By the name that the JSON Schema has for them."""


def read_operator(place: Place, body: Body, context: Context) -> Node | None:
    """Read one operator, as `OperatorForm.read` does; None also where it is none that is known.

    Args:
        place: Where it stands, and where its problems go.
        body: What the document says of it, as far as its shape is right.
        context: What it is read with.
    """
    form = next((form for form in OPERATORS.values() if is_given(place, body, form.mark)), None)
    return None if form is None else form.read(place, body, context)


def written_operator(node: Node) -> dict[str, Any]:
    """Write an operator; the nodes that its rows come from stay nodes."""
    body = next((body for form in OPERATORS.values() if (body := form.write(node)) is not None), None)
    if body is None:
        raise InvalidNetworkError(f"no operator that a document knows: {node}")
    return {"from": body["from"]} | body
