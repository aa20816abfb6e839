"""Writing the joins of a document."""

from collections.abc import Iterator, Mapping
from typing import Any, assert_never

from streamshed.network.document.document_values import said
from streamshed.network.document.schema_operators import JOIN, SHEDDING
from streamshed.network.model.join_source import JoinSource, default_prefix
from streamshed.network.model.node import Node
from streamshed.network.terms.join_condition import (
    CommonItems,
    EqualColumns,
    JoinCondition,
    PairFunction,
    WeightedItems,
)
from streamshed.network.words.duration import format_duration


def unwritable_join(name: str, join: JoinSource) -> Iterator[str]:
    """Tell what no document can say of a join.

    Args:
        name: The name of the joined stream.
        join: What it joins.
    """
    match join.condition:
        case PairFunction(function) if function.state_digest:
            at_the_top = "define it at the top of a module"
            yield f'stream "{name}": the function "{function.name}" cannot be imported: {at_the_top}'
        case EqualColumns(pairs) if len(dict(pairs)) < len(pairs):
            yield f'stream "{name}" compares one column of its left side with several: filter by the others'


def join_body(join: JoinSource, names: Mapping[Node, str]) -> dict[str, Any]:
    """Return what a document says of a join.

    Args:
        join: The join.
        names: The name of either side.
    """
    windows = (join.left_microseconds, join.right_microseconds)
    lengths = [format_duration(length) for length in windows]
    body = {
        "from": names[join.left],
        "join": names[join.right],
        **_condition(join.condition),
        "within": lengths[0] if lengths[0] == lengths[1] else lengths,
        "basic_window": None if join.chooses_basic else format_duration(join.basic_microseconds),
        "prefixes": [*join.prefixes],
        "time": join.time,
    }
    prefixes = [default_prefix(join.left), default_prefix(join.right)]
    return said(body | SHEDDING.written(join.shedding), JOIN, prefixes=prefixes)


def _condition(condition: JoinCondition) -> dict[str, Any]:
    match condition:
        case EqualColumns(pairs):
            same = [left for left, right in pairs if left == right]
            return {"on": (same[0] if len(same) == 1 else same) if len(same) == len(pairs) else dict(pairs)}
        case CommonItems(left, right, common):
            return {"overlap": _sets(left, right, common)}
        case WeightedItems(left, right, product):
            return {"inner_product": _sets(left, right, product)}
        case PairFunction(function):
            return {"pairs_where": function.name}
        case _:
            assert_never(condition)


def _sets(left: str, right: str, at_least: float) -> dict[str, Any]:
    same = {} if left == right else {"right": right}
    return {"left": left, **same, "at_least": at_least}
