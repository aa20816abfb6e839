"""Queries: what is asked of the network, and how much its answers matter."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from hashlib import blake2b
from typing import Any, cast

from streamshed.errors import InvalidNetworkError, Problem, unknown_name
from streamshed.network.model.gaps_by_group import by_group_problems
from streamshed.network.model.grouping import Aggregate
from streamshed.network.model.node import Node
from streamshed.network.model.row_selection import definition_of
from streamshed.network.model.stream import Stream
from streamshed.network.terms.aggregate import ESTIMATED
from streamshed.network.terms.gap import DEFAULT_GAP, GapsBy, GapTolerance, gap_tolerance, gaps_by
from streamshed.network.terms.goal import ErrorGoal, error_goal
from streamshed.network.terms.problems import Problems
from streamshed.network.terms.window import WindowSpecification
from streamshed.network.words.duration import format_duration, parse_duration
from streamshed.network.words.given import is_a, is_finite, is_number, is_whole_number
from streamshed.network.words.names import name_problem

_DEFINITION_FORMAT = 1


class AnswerMode(StrEnum):
    """What a query's answers are under overload."""

    APPROXIMATE = "approximate"
    """Every window is answered, scaled, with an error bound."""

    EXACT = "exact"
    """Every window is answered exactly: the query is never shed."""

    SUBSET = "subset"
    """Each answer that is delivered is exact; some windows are missing."""


@dataclass(frozen=True, repr=False)
class Query:
    """One query of a network.

    Attributes:
        name: Its name.
        node: What is asked for: the answers of an aggregate, or the rows of a node.
        weight: How much its error counts beside that of others, at least 0.
        priority: Queries of higher priority are shed last.
        mode: What its answers are under overload. Windows of so many rows are always answered exactly: to number these,
            every row is needed. Over a joined stream, answers in mode approximate are of what was joined of it.
        max_error: The error its answers should stay within, given as an `ErrorGoal`, as text such as "2 % at 95 %" or
            as a share; None: as little as the load allows.
        max_gap: The most answers in a row that it can miss in mode `subset`, given as a `GapTolerance`, as a number of
            windows or as a time such as "10 minutes"; None: one where windows can be dropped, and in other modes none.
        gaps_by: "window": it misses all groups of a window at once. "group": each group misses windows of its own, and
            `max_gap` holds for each; see `GapsBy`.
        latency: The goal from a row's arrival to its answer, such as "5 seconds"; None: that of the run. Queries whose
            streams have the same clock are answered by the same micro-batches: the least of their goals holds for all.
    """

    name: str
    node: Node
    weight: float = 1.0
    priority: int = 0
    mode: AnswerMode = AnswerMode.APPROXIMATE
    max_error: ErrorGoal | None = None
    max_gap: GapTolerance | None = None
    gaps_by: GapsBy = GapsBy.WINDOW
    latency: str | None = None

    def __post_init__(self) -> None:
        problems = Problems(f'query "{self.name}"')
        if (problem := name_problem("query", self.name)) is not None:
            problems.add(problem)
        if not is_a(self.node, Node):
            problems.add(
                Problem("it asks for rows of a node, or for the answers of .window(...).agg(...)", got=repr(self.node))
            )
        if not is_number(self.weight) or not _is_weight(self.weight):
            problems.add(Problem("its weight must be a finite number of at least 0", got=repr(self.weight)))
        if not is_whole_number(self.priority):
            problems.add(Problem("its priority must be a whole number", got=repr(self.priority)))
        mode = problems.attempt(lambda: _mode(self.mode))
        goal = None if self.max_error is None else problems.attempt(lambda: error_goal(self.max_error))
        if goal is not None and mode is not None and mode is not AnswerMode.APPROXIMATE:
            problems.add(f"max_error is for approximate answers, but its mode is {mode}")
        if goal is not None and self._asks_for_rows:
            problems.add("max_error is for aggregates, but it asks for the rows themselves")
        if is_a(self.node, Node):
            problems.add_all(self._nesting_problems())
        gap = None if self.max_gap is None else problems.attempt(lambda: gap_tolerance(self.max_gap))
        if gap is not None:
            problems.add_all(self._gap_problems(gap, mode))
        by = problems.attempt(lambda: gaps_by(self.gaps_by))
        problems.add_all(self._by_group_problems(by, mode))
        problems.add_all(self._row_problems(mode))
        latency = None if self.latency is None else problems.attempt(lambda: _latency(self.latency))
        if self.is_by_count:
            mode = AnswerMode.EXACT
        problems.raise_if_any()
        object.__setattr__(self, "mode", mode)
        object.__setattr__(self, "max_gap", gap)
        object.__setattr__(self, "gaps_by", by)
        object.__setattr__(self, "max_error", goal)
        object.__setattr__(self, "weight", float(self.weight))
        object.__setattr__(self, "latency", latency)

    def __repr__(self) -> str:
        return f"<Query {self.name}: {self.node.address}>"

    def _row_problems(self, mode: AnswerMode | None) -> Iterator[str]:
        """What is wrong with it because of where its rows come from, or how its windows hold them."""
        if self.is_joined:
            yield from self._join_problems(mode)
        elif self.is_by_count:
            yield from self._count_problems(mode)

    def _count_problems(self, mode: AnswerMode | None) -> Iterator[str]:
        if mode is AnswerMode.SUBSET:
            yield (
                "its windows hold so many rows, and to number these every row is needed: none of its windows can be"
                ' dropped, so its mode cannot be subset; it is always "exact"'
            )
        if self.max_error is not None and mode is AnswerMode.APPROXIMATE:
            yield "its windows hold so many rows, and are always answered exactly: leave max_error out"

    def _join_problems(self, mode: AnswerMode | None) -> Iterator[str]:
        of = f'its rows are of the join "{self.stream.name}"'
        if self.is_by_count:
            yield f"{of}: windows of so many rows are for rows of a source"
        if mode is AnswerMode.SUBSET and self._asks_for_rows:
            yield f"{of} themselves, and no windows of them: its mode cannot be subset, but approximate or exact"
        if self.max_error is not None and mode is AnswerMode.APPROXIMATE:
            yield f"{of}, and how far off answers are of a join done in part is not known: leave max_error out"

    def _gap_problems(self, gap: GapTolerance, mode: AnswerMode | None) -> Iterator[str]:
        if mode is not None and mode is not AnswerMode.SUBSET:
            yield f'max_gap is for queries in mode subset, but its mode is {mode}: write mode="subset"?'
        if self._asks_for_rows:
            yield "max_gap is for aggregates, but it asks for the rows themselves"
        elif isinstance(self.node, Aggregate) and self.node.over.is_numbered and gap.windows is None:
            yield Problem("its windows lie along numbers: max_gap is a number of windows", got=str(gap))

    def _by_group_problems(self, by: GapsBy | None, mode: AnswerMode | None) -> Iterator[str]:
        if by is not GapsBy.GROUP:
            return
        if mode is not None and mode is not AnswerMode.SUBSET:
            yield f'gaps_by="group" is for queries in mode subset, but its mode is {mode}: write mode="subset"?'
        if self.is_joined:
            yield (
                f'gaps_by="group" is for rows of a source, but its rows are of the join "{self.stream.name}": leave'
                " gaps_by out"
            )
        elif is_a(self.node, Node):
            yield from by_group_problems(self.node)

    def _nesting_problems(self) -> Iterator[str]:
        below = [node for node in self.rows.path if isinstance(node, Aggregate)]
        if below and self._asks_for_rows:
            yield (
                f'it asks for rows that are answers of "{below[-1]}": ask for that aggregate itself,'
                " or aggregate its answers"
            )
        for aggregate in below:
            for name, call in aggregate.calls:
                if call.kind in ESTIMATED:
                    yield (
                        f'it aggregates answers of "{aggregate}", but {name} is an estimate even when nothing is shed:'
                        f" no answer that rests on a {call.kind} could be called exact"
                    )

    @property
    def _asks_for_rows(self) -> bool:
        return is_a(self.node, Node) and not isinstance(self.node, Aggregate)

    @property
    def is_by_count(self) -> bool:
        """Whether its windows hold so many rows of each group: then every row is needed."""
        return isinstance(self.node, Aggregate) and self.node.over.is_by_count

    @property
    def may_be_sampled(self) -> bool:
        """Whether its rows may be a sample of those that it asks for; who is fed by rows may have no use for all."""
        return self.mode is AnswerMode.APPROXIMATE or self._asks_for_rows

    @property
    def is_joined(self) -> bool:
        """Whether its rows are pairs of rows of two streams."""
        return is_a(self.node, Node) and self.stream.joined is not None

    @property
    def windows(self) -> tuple[WindowSpecification, ...]:
        """The windows of the aggregates on the way from its stream to it, the one next to the stream first."""
        return tuple(node.over for node in self.node.path if isinstance(node, Aggregate))

    @property
    def gap_windows(self) -> int:
        """B: the most windows that may be dropped one after the other; 0: none may ever be."""
        if self.mode is not AnswerMode.SUBSET or self.aggregate is None:
            return 0
        return (self.max_gap or DEFAULT_GAP).windows_of(self.aggregate.over)

    @property
    def latency_seconds(self) -> float | None:
        """Its `latency` in seconds; None: that of the run holds."""
        return None if self.latency is None else parse_duration(self.latency) / 1e6

    def latency_problem(self, trigger_seconds: float) -> Problem | None:
        """Tell what is wrong with its `latency` where micro-batches start that often; None: nothing."""
        if self.latency_seconds is None or self.latency_seconds > trigger_seconds:
            return None
        says = (
            f"the latency must be longer than the trigger of {trigger_seconds:g} seconds, because a row may wait that"
            " long for its micro-batch"
        )
        return Problem(says, "latency", subject=f'query "{self.name}"', got=self.latency)

    @property
    def asked_definition_id(self) -> int:
        """The `definition_id` of whose windows are decided on; of what others ask of a stream, see `Foundation`."""
        return self.definition_id

    @property
    def asked_windows(self) -> tuple[WindowSpecification, ...]:
        """The `windows` on the way to those that are decided on."""
        return self.windows

    @property
    def aggregate(self) -> Aggregate | None:
        """What it aggregates; None: it asks for the rows themselves."""
        return self.node if isinstance(self.node, Aggregate) else None

    @property
    def rows(self) -> Node:
        """The node whose rows it aggregates, or asks for."""
        return self.node.input if isinstance(self.node, Aggregate) else self.node

    @property
    def stream(self) -> Stream:
        """The stream that its rows come from."""
        return self.node.stream

    @cached_property
    def definition(self) -> str:
        """What it asks, without name, weight, priority, mode, goal and gap: the same text in every process and release.

        Order of conjuncts, case, space, needless parentheses, names of keys and aggregates do not matter.
        """
        return json.dumps([_DEFINITION_FORMAT, *definition_of(self.node)], separators=(",", ":"))

    @cached_property
    def definition_id(self) -> int:
        """A positive 63-bit hash of `definition`: queries that ask the same share windows and state.

        Formula: the first 63 bits, big endian, of an 8-byte BLAKE2b digest of the UTF-8 text.
        """
        digest = blake2b(self.definition.encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") >> 1 or 1


def make_query(name: str, node: Node, **goals: Any) -> Query:
    """Ask for the rows of a node or the answers of an aggregate; see `Rows.query` and `Answers.query`."""
    return Query(name, node, **goals)


def _latency(text: str | None) -> str:
    microseconds = parse_duration(cast(str, text))
    if microseconds <= 0:
        raise InvalidNetworkError(Problem("its latency must be longer than nothing", got=repr(text)))
    return format_duration(microseconds)


def _is_weight(weight: float) -> bool:
    return is_finite(weight) and weight >= 0


def _mode(mode: AnswerMode | str) -> AnswerMode:
    try:
        return AnswerMode(mode)
    except ValueError as error:
        raise InvalidNetworkError(unknown_name("mode", mode, AnswerMode)) from error
