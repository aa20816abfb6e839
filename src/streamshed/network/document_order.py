"""The order in which operators that name their inputs can be read."""

from collections.abc import Iterator, Mapping, Sequence


def dependence_order(inputs: Mapping[str, Sequence[str]]) -> tuple[list[str], list[tuple[str, ...]]]:
    """Put operators after the ones that their rows come from.

    Args:
        inputs: What each operator names as its inputs; names that are no operators end the way up.

    Returns:
        All operators in order, and cycles among them, each of which names the next as an input; those in a cycle stand
        somewhere.

    Example:
        >>> dependence_order({"web": ["tcp"], "tcp": ["packets"], "a": ["b"], "b": ["a"], "c": ["a"]})
        (['tcp', 'web', 'b', 'a', 'c'], [('a', 'b')])
        >>> dependence_order({"pairs": ["web", "tcp"], "web": ["tcp"], "tcp": ["packets"]})
        (['tcp', 'web', 'pairs'], [])
    """
    order: dict[str, None] = {}
    cycles: list[tuple[str, ...]] = []
    for name in inputs:
        way: dict[str, Iterator[str]] = {} if name in order else {name: iter(inputs[name])}
        while way:
            last = next(reversed(way))
            above = next(way[last], None)
            if above is None:
                del way[last]
                order[last] = None
            elif above in way:
                names = list(way)
                cycles.append(tuple(names[names.index(above) :]))
            elif above in inputs and above not in order:
                way[above] = iter(inputs[above])
    return list(order), cycles
