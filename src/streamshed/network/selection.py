"""Which rows a node selects, and from what: for comparing nodes, not for running them."""

from dataclasses import replace

from streamshed.network.expression import conjuncts
from streamshed.network.grouping import Aggregate
from streamshed.network.lookup import Lookup
from streamshed.network.node import Node
from streamshed.network.operators import Apply, Filter, Map, Operator


def selection(node: Node) -> tuple[Operator, ...]:
    """Return the operators between the stream and a node in canonical form.

    Neighboring filters are taken apart into their conjuncts, sorted, each once; so two nodes that select the
    same way have equal selections however their filters were cut and ordered. Run `node.path` instead: there
    a filter still guards those after it.

    Args:
        node: Any node of rows.

    Returns:
        From the stream down, without the stream; filters have one conjunct each.
    """
    if not isinstance(node, Operator):
        return ()
    if isinstance(node, Filter):
        return _with_conjuncts(node)
    above = selection(node.input)
    return (*above, _below(above, node))


def stream_columns_used(node: Node | Aggregate) -> tuple[str, ...]:
    """Return the columns of the stream that a node or aggregate depends on, sorted.

    For a node these are all of its own that come from the stream, and those that its operators use.
    """
    rows = node.input if isinstance(node, Aggregate) else node
    used = set(node.used_columns) if isinstance(node, Aggregate) else set(rows.columns)
    for operator in reversed(rows.path[1:]):
        match operator:
            case Filter(predicate=predicate):
                used |= predicate.columns
            case Map(assignments=assignments):
                used -= {name for name, _ in assignments}
                used = used.union(*(expression.columns for _, expression in assignments))
            case Lookup(on=on, columns_added=added):
                used = (used - set(added)) | {ours for ours, _ in on}
            case Apply(arguments=arguments, into=into):
                used = (used - {into}) | set(arguments)
    return tuple(sorted(used | {node.stream.time}))


def _with_conjuncts(node: Filter) -> tuple[Operator, ...]:
    parts = {part.canonical: part for part in conjuncts(node.predicate)}
    top: Node = node.input
    while isinstance(top, Filter):
        parts |= {part.canonical: part for part in conjuncts(top.predicate)}
        top = top.input
    chain = selection(top)
    for _, part in sorted(parts.items()):
        above = chain[-1] if chain else node.stream
        chain = (*chain, Filter(above, part))
    return chain


def _below(above: tuple[Operator, ...], node: Operator) -> Operator:
    """The operator with the canonical form of its input."""
    top: Node = above[-1] if above else node.stream
    match node:
        case Map() | Lookup() | Apply():
            return replace(node, input=top)
    raise TypeError(f"no operator over rows: {type(node).__name__}")
