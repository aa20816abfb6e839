"""Making a joined stream: two streams, a condition, windows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from streamshed.errors import InvalidNetworkError, Problem
from streamshed.network.model.answer_side import side_time
from streamshed.network.model.join_source import JoinSource, default_prefix
from streamshed.network.model.node import Node
from streamshed.network.model.stream import Stream
from streamshed.network.source.identity import Identity, IdentityKind
from streamshed.network.source.sources import RateSource
from streamshed.network.sql.expression import parse_expression
from streamshed.network.terms.join_condition import JoinKey, join_condition
from streamshed.network.terms.join_shedding import JoinMode, JoinShedding
from streamshed.network.terms.problems import Problems
from streamshed.network.words.byte_size import parse_byte_size
from streamshed.network.words.columns import Column
from streamshed.network.words.duration import parse_duration
from streamshed.network.words.given import is_a

DEFAULT_BASIC_WINDOWS = 20
"""Into so many basic windows the longer window of a join is cut where nothing is said ([G05] §6.1: 1 s of 20 s)."""

_LEAST_BASIC = 1_000


def make_joined(  # noqa: PLR0913 - as `Rows.join`
    left: Node,
    right: Node,
    *,
    on: JoinKey,
    within: str | Sequence[str],
    name: str | None,
    prefixes: Sequence[str] | None,
    time: str,
    basic_window: str | None,
    policy: str,
    mode: JoinMode | str,
    weight: str | None,
    memory: str | None,
    sampling: float,
    sampled_side: str,
) -> Stream:
    """Join two streams; see `Rows.join`."""
    named = f"{left.stream.name}_{right.stream.name}" if name is None else name
    problems = Problems(f'stream "{named}"')
    condition = problems.attempt(lambda: join_condition(on))
    windows = problems.attempt(lambda: _windows(within))
    basic = None if basic_window is None else problems.attempt(lambda: parse_duration(basic_window))
    both = problems.attempt(lambda: _prefixes(prefixes, left, right))
    worth = None if weight is None else problems.attempt(lambda: parse_expression(weight))
    size = None if memory is None else problems.attempt(lambda: parse_byte_size(memory))
    shedding = problems.attempt(
        lambda: JoinShedding(policy, cast("JoinMode", mode), worth, size, sampling, sampled_side)
    )
    problems.raise_if_any()
    if condition is None or windows is None or both is None or shedding is None:
        raise TypeError("a part of a join is missing, but nobody said why")
    basic_microseconds = default_basic_microseconds(windows) if basic is None else basic
    source = problems.require(
        lambda: JoinSource(
            left, right, condition, *windows, basic_microseconds, time, both, shedding, chooses_basic=basic is None
        )
    )
    return stream_of(named, source)


def stream_of(name: str, source: JoinSource) -> Stream:
    """Return the stream of a join's results.

    Raises:
        InvalidNetworkError: No stream can have that name.
    """
    sides = (source.left.stream, source.right.stream)
    return Stream(
        name=name,
        source=source,
        schema=source.columns,
        time=source.time,
        watermark_microseconds=max(side.watermark_microseconds for side in sides),
        parse=None,
        identity=Identity(IdentityKind.NONE),
        clock=source.left.stream.clock,
    )


def default_basic_microseconds(windows: tuple[int, int]) -> int:
    """Return the size of basic windows where nothing is said: a part of the longer window, at least a millisecond.

    >>> default_basic_microseconds((20_000_000, 0))
    1000000
    """
    return max(_LEAST_BASIC, max(windows) // DEFAULT_BASIC_WINDOWS)


def _windows(within: str | Sequence[str]) -> tuple[int, int]:
    given: tuple[str, ...] = (within, within) if isinstance(within, str) else ()
    if not given and is_a(within, Sequence):
        given = tuple(within)
    if len(given) != 2:
        raise InvalidNetworkError(
            Problem(
                'within is a time such as "30 seconds", or two: how long left rows wait, and right ones',
                got=repr(within),
            )
        )
    left, right = map(parse_duration, given)
    return left, right


def _prefixes(prefixes: Sequence[str] | None, left: Node, right: Node) -> tuple[str, str]:
    if prefixes is None:
        return default_prefix(left), default_prefix(right)
    are_two = is_a(prefixes, Sequence) and not isinstance(prefixes, str) and len(prefixes) == 2
    if not are_two or not all(isinstance(one, str) for one in prefixes):
        raise InvalidNetworkError(Problem('prefixes are two, such as ("left_", "right_")', got=repr(prefixes)))
    return prefixes[0], prefixes[1]


def join_for_tasks(join: JoinSource) -> JoinSource:
    """The same join of streams with the same columns, without what is behind these, such as users' functions.

    It is what tasks are told of a join, each anew. Its `definition` is another one.
    """

    def bare(node: Node) -> Stream:
        columns = tuple(Column(name, kind) for name, kind in node.columns.items())
        of, nothing = node.stream, Identity(IdentityKind.NONE)
        return Stream(of.name, RateSource(1), columns, side_time(node), 0, None, nothing, clock=of.clock)

    return replace(join, left=bare(join.left), right=bare(join.right))
