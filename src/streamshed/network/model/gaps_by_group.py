"""Which queries can miss windows of some groups only."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from streamshed.network.model.grouping import Aggregate
from streamshed.network.model.lookup import Lookup
from streamshed.network.model.node import Node
from streamshed.network.model.operators import Apply, Map, last_aggregate
from streamshed.network.sql.expression import Expression
from streamshed.network.sql.sql_syntax import read_sql


def by_group_problems(node: Node) -> Iterator[str]:
    """Tell why the windows of what is asked for cannot be dropped by group.

    Which group a row belongs to must be known directly behind its source, before any filter: what is computed first
    would be computed for nothing, and an expression may fail for rows that a filter lets go.
    """
    if not isinstance(node, Aggregate) or not node.keys:
        yield 'gaps_by="group" is for aggregates with groups: write .by("column"), or leave it out'
        return
    if (below := last_aggregate(node.input)) is not None:
        yield f'gaps_by="group" is for aggregates of a stream\'s rows, but it aggregates the answers of "{below}"'
        return
    written = {name.lower(): above for above in node.input.path for name in _written(above)}
    for key in node.keys:
        if not _cannot_fail(key.expression):
            yield (
                f'gaps_by="group" needs keys that are columns, or columns as text, but the key {key.name} is'
                f' "{key.expression}", which may fail for rows that filters let go: declare it as a column of the'
                " stream, or leave gaps_by out"
            )
        for column in sorted(key.expression.columns):
            if (by := written.get(column.lower())) is not None:
                yield (
                    f'gaps_by="group" needs keys that are known directly behind the source, but the key {key.name}'
                    f' uses "{column}", which "{by}" computes: group by columns of the stream'
                )


def _cannot_fail(key: Expression) -> bool:
    """Whether a key is a column, or one that is cast to text."""
    tree = read_sql(key.text).tree
    if isinstance(tree, exp.Cast) and tree.to.this is exp.DataType.Type.TEXT:
        tree = tree.this
    return isinstance(tree, exp.Column)


def _written(node: Node) -> tuple[str, ...]:
    match node:
        case Map():
            return tuple(name for name, _ in node.assignments)
        case Apply():
            return (node.into,)
        case Lookup():
            return tuple(node.columns_added)
        case _:
            return ()
