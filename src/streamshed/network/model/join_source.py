"""Where the rows of a joined stream come from: pairs of rows of two streams within time windows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from streamshed.network.model.answer_side import side_definition
from streamshed.network.model.join_problems import (
    basic_window_problems,
    condition_problems,
    joined_columns,
    name_problems,
    sampling_problems,
    side_problems,
    weight_problems,
    window_problems,
)
from streamshed.network.model.node import Node
from streamshed.network.model.row_selection import definition_of
from streamshed.network.terms.join_condition import (
    CommonItems,
    EqualColumns,
    JoinCondition,
    PairFunction,
    WeightedItems,
)
from streamshed.network.terms.join_shedding import JoinMode, JoinShedding
from streamshed.network.terms.problems import Problems, declared_columns
from streamshed.network.words.columns import Column, declared_name
from streamshed.network.words.duration import format_duration


@dataclass(frozen=True)
class JoinSource:
    """Pairs of rows of two streams: each pair within the windows that meets the condition, once; made by `Rows.join`.

    A left row of time t1 and a right row of time t2 join iff −w2 ≤ t2 − t1 ≤ w1 and the condition holds ([G05] §2).
    A result's time is the later of the two. Rows of a side may be answers of windows: their time is the start of these.

    Attributes:
        left: Rows of one stream, or answers of windows over it.
        right: Those of the other, likewise.
        condition: When two of them join.
        left_microseconds: w1, how long left rows wait for later right ones.
        right_microseconds: w2, the reverse.
        basic_microseconds: b, the size of a basic window, or the smallest it may be.
        time: The column of a result's time.
        prefixes: What the names of the left side's columns begin with in a result, and those of the right side's.
        shedding: What is left out when there is no time for all.
        chooses_basic: Whether b is chosen while it runs, among multiples of that size.
    """

    left: Node
    right: Node
    condition: JoinCondition
    left_microseconds: int
    right_microseconds: int
    basic_microseconds: int
    time: str
    prefixes: tuple[str, str] = ("left_", "right_")
    shedding: JoinShedding = field(default_factory=JoinShedding)
    chooses_basic: bool = False

    def __post_init__(self) -> None:
        problems = Problems(f"join of {self.left.stream.name} and {self.right.stream.name}")
        parts = (
            side_problems(self.left, self.right),
            window_problems(self.left_microseconds, self.right_microseconds),
            basic_window_problems(self.basic_microseconds),
            condition_problems(self.condition, self.left, self.right),
            name_problems(self.left, self.right, self.prefixes, self.time),
            sampling_problems(self.left, self.right, is_sampled=self.is_sampled),
        )
        for part in parts:
            problems.add_all(part)
        problems.raise_if_any()
        weighed = (self.shedding.weight, self.left, self.right, self.prefixes, self.time)
        problems.add_all(weight_problems(*weighed))
        problems.raise_if_any()
        object.__setattr__(self, "condition", _declared(self.condition, self.left.columns, self.right.columns))
        if self.shedding.weight is not None:
            types = {column.name: column.type for column in self.columns}
            weight = declared_columns(self.shedding.weight, types)
            object.__setattr__(self, "shedding", replace(self.shedding, weight=weight))

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The columns of a result: its time, all of the left row, all of the right row."""
        return joined_columns(self.left, self.right, self.prefixes, self.time)

    @property
    def is_sampled(self) -> bool:
        """Whether rows of one side are drawn under overload."""
        return self.shedding.mode is JoinMode.SAMPLE

    @cached_property
    def definition(self) -> tuple[object, ...]:
        """What it joins, the same in every process and release; how it sheds is no part of it."""
        windows = (self.left_microseconds, self.right_microseconds)
        sides = (definition_of(self.left), definition_of(self.right))
        answers = [names for side in (self.left, self.right) if (names := side_definition(side))]
        return ("join", self.condition.definition, windows, self.prefixes, *sides, *answers)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes of both sides, each after its input."""
        return tuple(dict.fromkeys((*self.left.path, *self.right.path)))

    @property
    def windows_text(self) -> str:
        """How long either side waits, for people.

        Example:
            >>> from streamshed.network.source.sources import rate
            >>> from streamshed.network.model.declared_stream import stream
            >>> calls = stream("calls", rate(10), time="timestamp")
            >>> alerts = stream("alerts", rate(10), time="timestamp")
            >>> calls.join(alerts, on="value", within=("30 seconds", "0 s")).stream.joined.windows_text
            'within 30 seconds, 0 seconds'
            >>> calls.join(alerts, on="value", within="1 minute").stream.joined.windows_text
            'within 1 minute'
        """
        lengths = dict.fromkeys((self.left_microseconds, self.right_microseconds))
        both = lengths if len(lengths) == 1 else (self.left_microseconds, self.right_microseconds)
        return "within " + ", ".join(map(format_duration, both))

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is cached."""
        return {name: value for name, value in self.__dict__.items() if name in self.__dataclass_fields__}

    def __str__(self) -> str:
        joined = f"{self.left.stream.name} join {self.right.stream.name} on {self.condition} {self.windows_text}"
        return ", ".join(filter(None, (joined, str(self.shedding))))


def default_prefix(node: Node) -> str:
    """The name of a node's stream and an underscore, as a prefix of columns.

    Example:
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> default_prefix(stream("calls.v2", rate(10), time="timestamp").node)
        'calls_v2_'
    """
    return re.sub(r"\W", "_", node.stream.name) + "_"


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
