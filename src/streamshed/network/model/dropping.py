"""Which operators may let rows go: filters and lookups; columns that are computed let all pass."""

from streamshed.network.model.node import Node
from streamshed.network.model.operators import Apply, Map


def may_drop(node: Node) -> bool:
    """Tell whether fewer rows may come out of a node than go in."""
    return len(node.path) > 1 and not isinstance(node, Map | Apply)


def last_drop(node: Node) -> Node:
    """Return the node itself or the next above it that may drop rows; the stream where none does.

    Example:
        >>> from streamshed.network.model.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> large = stream("ticks", rate(100), time="timestamp").filter("value > 3")
        >>> str(last_drop(large.map(half="value / 2").node)), str(last_drop(large.stream))
        ('filter value > 3', 'ticks')
    """
    return next((above for above in reversed(node.path) if may_drop(above)), node.stream)
