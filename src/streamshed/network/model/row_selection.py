"""Which rows a node selects, and from what: for comparing nodes, not for running them."""

from dataclasses import replace

from streamshed.network.model.grouping import Aggregate
from streamshed.network.model.lookup import Lookup
from streamshed.network.model.node import Node
from streamshed.network.model.operators import Apply, Filter, Map, Operator
from streamshed.network.sql.expression import conjuncts

_FILTER = "filter"


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


def definition_of(node: Node) -> tuple[tuple[object, ...], ...]:
    """Define what is asked of a node or an aggregate, the same in every process and release.

    Operators, assignments and columns that do not matter for it are left out; how neighboring filters are cut
    and ordered does not matter.

    Returns:
        The definitions of the stream, of the operators from there down, and what is asked of their rows.
    """
    steps = [_computation(node)]
    used = _columns_asked(node)
    rows = node.input if isinstance(node, Aggregate) else node
    for operator in reversed(rows.path):
        step = operator.definition(used)
        used = operator.columns_needed(used)
        if step and step[0] == steps[-1][0] == _FILTER:
            steps[-1] = (_FILTER, *sorted({*step[1:], *steps[-1][1:]}, key=str))
        elif step:
            steps.append(step)
    return tuple(reversed(steps))


def stream_columns_used(node: Node) -> tuple[str, ...]:
    """Return the columns of the stream that a node or aggregate depends on, sorted."""
    used = _columns_asked(node)
    rows = node.input if isinstance(node, Aggregate) else node
    for operator in reversed(rows.path):
        used = operator.columns_needed(used)
    return tuple(sorted(used))


def _computation(node: Node) -> tuple[object, ...]:
    if isinstance(node, Aggregate):
        return node.computation
    return ("rows", *(name.lower() for name in node.columns))


def _columns_asked(node: Node) -> frozenset[str]:
    return node.used_columns if isinstance(node, Aggregate) else frozenset(node.columns)


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
        case Map() | Lookup() | Apply() | Aggregate():
            return replace(node, input=top)
    raise TypeError(f"no operator over rows: {type(node).__name__}")
