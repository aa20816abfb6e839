"""Sides of joins that are answers of windows: which there can be, and what is known of them."""

from collections.abc import Iterator

from streamshed.network.model.grouping import Aggregate
from streamshed.network.model.node import Node
from streamshed.network.terms.aggregate import ESTIMATED
from streamshed.network.terms.window import WindowSpecification


def side_aggregates(side: Node) -> tuple[Aggregate, ...]:
    """Return the aggregates on the way to a side of a join, the one next to the stream first; of rows, none."""
    return tuple(node for node in side.path if isinstance(node, Aggregate))


def side_windows(side: Node) -> tuple[WindowSpecification, ...]:
    """Return their windows."""
    return tuple(aggregate.over for aggregate in side_aggregates(side))


def side_time(side: Node) -> str:
    """Return the column that is the time of a side's rows: of answers, where their windows start ([T06] §3.2).

    Example:
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> ticks = stream("ticks", rate(10), time="timestamp")
        >>> side_time(ticks.node), side_time(ticks.window("1 minute").agg(n="count(*)").filter("n > 3").node)
        ('timestamp', 'window_start')
    """
    aggregates = side_aggregates(side)
    return next(iter(aggregates[-1].columns)) if aggregates else side.stream.time


def side_definition(side: Node) -> tuple[object, ...]:
    """Return what a side asks beside what its rows are made of: the names of answers, which are columns of results."""
    return tuple(name.lower() for name in side.columns) if isinstance(side, Aggregate) else ()


def sampled_answers_problems(left: Node, right: Node, *, is_sampled: bool) -> Iterator[str]:
    """Tell if rows would have to be drawn for a join of answers.

    Args:
        left: Its left side.
        right: Its right side.
        is_sampled: Whether its mode is sample.
    """
    aggregates = (*side_aggregates(left), *side_aggregates(right))
    if is_sampled and aggregates:
        yield (
            f'its mode is sample, and a side is answers of "{aggregates[0]}": only of joins of rows are rows drawn,'
            ' write mode="subset"'
        )


def answer_side_problems(name: str, side: Node) -> Iterator[str]:
    """Tell what cannot be joined of answers.

    Args:
        name: "left" or "right".
        side: What is joined.
    """
    for aggregate in side_aggregates(side):
        answers = f'its {name} side is answers of "{aggregate}"'
        if aggregate.over.is_by_count:
            yield (
                f"{answers}: windows of so many rows have no place in time, by which rows are joined (are windows in"
                ' time meant, such as "1 minute"?)'
            )
        for call_name, call in aggregate.calls:
            if call.kind in ESTIMATED:
                yield (
                    f"{answers}, but {call_name} is an estimate even when nothing is shed: no result that rests on a"
                    f" {call.kind} could be called exact"
                )
