"""Probes: how many rows pass operators that nothing else counts.

Rows that a query or a user's function takes in are counted anyway. For other operators one row in 256 sets one more bit
in the mask of a query further down. So the rows that an operator passes are counted with that query's rows: in the same
state, at the same sampling rate, and without looking at a row twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from streamshed.network.model.node import Node
from streamshed.network.model.operators import Apply, last_drop, may_drop
from streamshed.network.model.query import Query
from streamshed.sharing.instructions import StreamProgram, Test

ONE_IN = 256
"""Of so many event times, the rows of one are probed."""

PROBED = "__probed"
"""The test that these pass."""

TEST = f"pmod(xxhash64(`__time`), {ONE_IN}L) = 0"

_FIRST_SLOT = 100_000
"""Beyond all slots of values."""


@dataclass(frozen=True)
class CountingPoint:
    """Where rows of an operator are counted.

    Attributes:
        node: The operator.
        query: An aggregate query below it.
        slot: Where they are found in state, beside the query's values.
    """

    node: Node
    query: Query
    slot: int


def is_probe(slot: int) -> bool:
    """Return whether a slot is not that of a value.

    >>> is_probe(0), is_probe(2001), is_probe(100_002)
    (False, False, True)
    """
    return slot >= _FIRST_SLOT


def probes(queries: Sequence[Query]) -> tuple[CountingPoint, ...]:
    """Return the probes that a stream needs.

    Each is beside the query below it that has the fewest groups, as far as can be told beforehand.

    Args:
        queries: Those over the stream.

    Example:
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> first = stream("ticks", rate(100), time="timestamp").filter("value > 3")
        >>> both = first.filter("value < 9").window("1 second").agg(n="count(*)").query("both")
        >>> [(str(probe.node), probe.query.name, probe.slot) for probe in probes([both])]
        [('filter value > 3', 'both', 100001)]
        >>> probes([both, first.window("1 second").agg(n="count(*)").query("one")])
        ()
    """
    hosts = sorted(
        (query for query in queries if query.aggregate is not None and not query.is_by_count), key=_preference
    )
    nodes = dict.fromkeys(node for query in queries for node in query.rows.path)
    counted = {last_drop(host.rows) for host in hosts}
    counted |= {last_drop(node.input) for node in nodes if isinstance(node, Apply)}
    places: dict[Node, tuple[Query, int]] = {}
    for host in hosts:
        for place, node in enumerate(host.rows.path):
            places.setdefault(node, (host, _FIRST_SLOT + place))
    return tuple(
        CountingPoint(node, *places[node])
        for node in nodes
        if node in places and may_drop(node) and node not in counted
    )


def with_probed(program: StreamProgram, wanted: Iterable[CountingPoint]) -> StreamProgram:
    """Return a straight line that begins with the test for probed rows; the same one where there are no probes."""
    if not tuple(wanted):
        return program
    return replace(program, instructions=(Test(PROBED, TEST, ()), *program.instructions))


def _preference(query: Query) -> tuple[int, int, int]:
    keys = 0 if query.aggregate is None else len(query.aggregate.keys)
    return keys, len(query.rows.path), query.definition_id
