"""Where the rows of a joined stream come from: pairs of rows of two streams within time windows."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from streamshed.errors import near_miss
from streamshed.network.columns import Column, declared_name, duplicate_names
from streamshed.network.duration import format_duration
from streamshed.network.join_condition import CommonItems, EqualColumns, JoinCondition, PairFunction, WeightedItems
from streamshed.network.names import is_reserved
from streamshed.network.node import Node
from streamshed.network.problems import Problems, unknown_column

JOIN_POLICY_NAMES = ("random_drop", "rate_adaptation", "time_correlation", "direction", "greedy")
"""How what is compared may be chosen; `streamshed.joins.policies` says what each does."""

_WHOLE = frozenset({"tinyint", "smallint", "int", "bigint"})
_PREFIX = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class JoinSource:
    """Pairs of rows of two streams: each pair within the windows that meets the condition, once; made by `Node.join`.

    A left row of time t1 and a right row of time t2 join iff −w2 ≤ t2 − t1 ≤ w1 and the condition holds ([G05] §2).
    A result's time is the later of the two.

    Attributes:
        left: Rows of one stream.
        right: Those of the other.
        condition: When two of them join.
        left_microseconds: w1, how long left rows wait for later right ones.
        right_microseconds: w2, the reverse.
        basic_microseconds: b, the size of a basic window.
        policy: How what is compared is chosen when there is no time for all.
        time: The column of a result's time.
        prefixes: What the names of the left side's columns begin with in a result, and those of the right side's.
    """

    left: Node
    right: Node
    condition: JoinCondition
    left_microseconds: int
    right_microseconds: int
    basic_microseconds: int
    policy: str
    time: str
    prefixes: tuple[str, str] = field(default=("left_", "right_"))

    def __post_init__(self) -> None:
        problems = Problems(f"join of {self.left.stream.name} and {self.right.stream.name}")
        problems.add_all(_side_problems(self))
        problems.add_all(_window_problems(self))
        problems.raise_if_any()
        problems.add_all(_key_problems(self))
        problems.add_all(_name_problems(self))
        problems.raise_if_any()
        object.__setattr__(self, "condition", _declared(self.condition, self.left.columns, self.right.columns))

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of a result: its time, all of the left row, all of the right row."""
        sides = zip(self.prefixes, (self.left, self.right), strict=True)
        of_sides = (Column(prefix + name, kind) for prefix, node in sides for name, kind in node.columns.items())
        return (Column(self.time, "timestamp"), *of_sides)

    @cached_property
    def definition(self) -> tuple[object, ...]:
        """What it joins, the same in every process and release; how it sheds is no part of it."""
        from streamshed.network.selection import definition_of

        windows = (self.left_microseconds, self.right_microseconds)
        sides = (definition_of(self.left), definition_of(self.right))
        return ("join", self.condition.definition, windows, self.prefixes, *sides)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes of both sides, each after its input."""
        return tuple(dict.fromkeys((*self.left.path, *self.right.path)))

    @property
    def windows_text(self) -> str:
        """How long either side waits, for people.

        Example:
            >>> from streamshed.network.sources import rate
            >>> from streamshed.network.stream import stream
            >>> calls = stream("calls", rate(10), time="timestamp")
            >>> alerts = stream("alerts", rate(10), time="timestamp")
            >>> calls.join(alerts, on="value", within=("30 seconds", "0 s")).source.windows_text
            'within 30 seconds, 0 seconds'
            >>> calls.join(alerts, on="value", within="1 minute").source.windows_text
            'within 1 minute'
        """
        lengths = dict.fromkeys((self.left_microseconds, self.right_microseconds))
        both = lengths if len(lengths) == 1 else (self.left_microseconds, self.right_microseconds)
        return "within " + ", ".join(map(format_duration, both))

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is cached."""
        return {name: value for name, value in self.__dict__.items() if name in self.__dataclass_fields__}

    def __str__(self) -> str:
        return f"{self.left.stream.name} join {self.right.stream.name} on {self.condition} {self.windows_text}"


def default_prefix(node: Node) -> str:
    """The name of a node's stream and an underscore, as a prefix of columns.

    Example:
        >>> from streamshed.network.sources import rate
        >>> from streamshed.network.stream import stream
        >>> default_prefix(stream("calls.v2", rate(10), time="timestamp"))
        'calls_v2_'
    """
    return re.sub(r"\W", "_", node.stream.name) + "_"


def _side_problems(join: JoinSource) -> Iterator[str]:
    from streamshed.network.operators import last_aggregate

    for name, side in (("left", join.left), ("right", join.right)):
        if (aggregate := last_aggregate(side)) is not None:
            yield f'its {name} side is the answers of "{aggregate}": only rows of a stream can be joined'
        elif isinstance(side.stream.source, JoinSource):
            yield f'its {name} side is the rows of the join "{side.stream.name}": only rows of a source can be joined'
        elif side.stream.is_numbered:
            yield f'its {name} side "{side.stream.name}" has numbers, but rows are joined by their time'
    if join.left.stream.clock != join.right.stream.clock:
        clocks = f'"{join.left.stream.clock}" and "{join.right.stream.clock}"'
        yield f"its sides have the clocks {clocks}: streams that are joined share one, clock=... of the stream"


def _window_problems(join: JoinSource) -> Iterator[str]:
    lengths = (join.left_microseconds, join.right_microseconds)
    if min(lengths) < 0:
        yield f"within cannot be negative, got {lengths[0]} and {lengths[1]} microseconds"
    elif not sum(lengths):
        yield "within is 0 on both sides: nothing but equal times would join"
    if join.basic_microseconds <= 0:
        yield f"its basic window is {join.basic_microseconds} microseconds, expected more than 0"
    if join.policy not in JOIN_POLICY_NAMES:
        known = ", ".join(JOIN_POLICY_NAMES)
        yield f'unknown policy "{join.policy}", known are: {known}{near_miss(str(join.policy), JOIN_POLICY_NAMES)}'


def _key_problems(join: JoinSource) -> Iterator[str]:
    for kind, names, node in (("left", join.condition.left, join.left), ("right", join.condition.right, join.right)):
        for name in names:
            if declared_name(name, node.columns) is None:
                yield f"its {kind} side: {unknown_column(name, node.columns)}"
    for mine, theirs in zip(join.condition.left, join.condition.right, strict=True):
        ours = [_type(mine, join.left), _type(theirs, join.right)]
        kinds = [_kind(one) for one in ours if one is not None]
        if len(set(kinds)) > 1:
            yield f'it compares "{mine}", a {ours[0]}, with "{theirs}", a {ours[1]}: cast one of them in a map'
        yield from _set_problems(join.condition, [(mine, ours[0]), (theirs, ours[1])])


def _set_problems(condition: JoinCondition, columns: list[tuple[str, str | None]]) -> Iterator[str]:
    kinds: dict[type, tuple[str, ...]] = {CommonItems: ("array",), WeightedItems: ("map", "array<struct")}
    wanted = kinds.get(type(condition))
    for name, kind in columns:
        if wanted is not None and kind is not None and not kind.startswith(wanted):
            what = "a list" if wanted == ("array",) else "a map from items to weights"
            yield f'"{name}" is a {kind}, expected {what}'


def _type(name: str, node: Node) -> str | None:
    declared = declared_name(name, node.columns)
    return None if declared is None else node.columns[declared]


def _kind(of: str) -> str:
    """What types that can be compared have in common; of lists, their items'."""
    if of.startswith("array<"):
        return f"array<{_kind(of.removeprefix('array<').removesuffix('>'))}>"
    if of in _WHOLE:
        return "whole number"
    if of in {"float", "double"}:
        return "double"
    return "string" if of.startswith(("char", "varchar")) else of


def _name_problems(join: JoinSource) -> Iterator[str]:
    unusable = [prefix for prefix in join.prefixes if not _PREFIX.fullmatch(prefix)]
    for prefix in unusable:
        yield f'no name of a column can begin with the prefix "{prefix}": use letters, digits and _, a letter first'
    if is_reserved(join.time):
        yield f'its time cannot be named "{join.time}": names that begin with two underscores are taken'
    if unusable or is_reserved(join.time):
        return
    if join.prefixes[0].lower() == join.prefixes[1].lower():
        yield (
            f'the columns of both sides would begin with "{join.prefixes[0]}": write'
            ' prefixes=("left_", "right_") or others that differ'
        )
        return
    for problem in duplicate_names(column.name for column in join.columns):
        yield f"{problem}: choose others, prefixes=(...) or time=..."


def _declared(
    condition: JoinCondition, left: Mapping[str, str | None], right: Mapping[str, str | None]
) -> JoinCondition:
    """The condition with its columns as they are spelled where they are declared."""
    match condition:
        case EqualColumns(pairs):
            return EqualColumns(tuple((declared_name(a, left) or a, declared_name(b, right) or b) for a, b in pairs))
        case CommonItems(mine, theirs, at_least):
            return CommonItems(declared_name(mine, left) or mine, declared_name(theirs, right) or theirs, at_least)
        case WeightedItems(mine, theirs, weight):
            return WeightedItems(declared_name(mine, left) or mine, declared_name(theirs, right) or theirs, weight)
        case PairFunction():
            return condition
