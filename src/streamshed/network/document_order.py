"""The order in which operators that name their inputs can be read."""

from collections.abc import Mapping


def dependence_order(inputs: Mapping[str, str | None]) -> tuple[list[str], list[tuple[str, ...]]]:
    """Put operators after the ones that their rows come from.

    Args:
        inputs: What each operator names as its input; names that are no operators end the way up.

    Returns:
        All operators in order, and the cycles among them, each once; those in a cycle stand somewhere.

    Example:
        >>> dependence_order({"web": "tcp", "tcp": "packets", "a": "b", "b": "a", "c": "a"})
        (['tcp', 'web', 'b', 'a', 'c'], [('a', 'b')])
    """
    order: dict[str, None] = {}
    cycles: list[tuple[str, ...]] = []
    for name in inputs:
        chain: dict[str, None] = {}
        link: str | None = name
        while link is not None and link in inputs and link not in order and link not in chain:
            chain[link] = None
            link = inputs[link]
        names = list(chain)
        if link in chain:
            cycles.append(tuple(names[names.index(link) :]))
        order |= dict.fromkeys(reversed(names))
    return list(order), cycles
