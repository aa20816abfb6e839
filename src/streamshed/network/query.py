"""Queries: what is asked of the network, and how much its answers matter."""

import json
import math
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from hashlib import blake2b
from types import NoneType
from typing import cast

from streamshed.errors import InvalidNetworkError, near_miss
from streamshed.network.given import is_a, is_number, is_whole_number
from streamshed.network.goal import ErrorGoal, error_goal
from streamshed.network.grouping import Aggregate
from streamshed.network.names import name_problem
from streamshed.network.node import Node
from streamshed.network.problems import Problems
from streamshed.network.selection import definition_of
from streamshed.network.stream import Stream

_DEFINITION_FORMAT = 1


class AnswerMode(StrEnum):
    """What a query's answers are under overload."""

    APPROXIMATE = "approximate"
    """Every window is answered, scaled, with an error bound."""

    EXACT = "exact"
    """Every window is answered exactly: the query is never shed."""

    SUBSET = "subset"
    """Each answer that is delivered is exact; some windows are missing."""


@dataclass(frozen=True)
class Query:
    """One query of a network.

    Attributes:
        name: Its name.
        node: What is asked for: the answers of an aggregate, or the rows of a node.
        weight: How much its error counts beside that of others, at least 0.
        priority: Queries of higher priority are shed last.
        mode: What its answers are under overload.
        max_error: The error its answers should stay within, given as an `ErrorGoal`, as text such as "2 % at 95 %" or
            as a share; None: as little as the load allows.
        max_gap: The most answers in a row it can miss; None, as windows are not dropped yet.
    """

    name: str
    node: Node | Aggregate
    weight: float = 1.0
    priority: int = 0
    mode: AnswerMode = AnswerMode.APPROXIMATE
    max_error: ErrorGoal | None = None
    max_gap: None = None

    def __post_init__(self) -> None:
        problems = Problems(f'query "{self.name}"')
        if (problem := name_problem("query", self.name)) is not None:
            problems.add(problem)
        if not is_a(self.node, Node, Aggregate):
            problems.add(f"it asks for rows of a node, or for the answers of .window(...).agg(...), got {self.node!r}")
        if not is_number(self.weight) or not _is_weight(self.weight):
            problems.add(f"its weight must be a finite number of at least 0, got {self.weight!r}")
        if not is_whole_number(self.priority):
            problems.add(f"its priority must be a whole number, got {self.priority!r}")
        if not is_a(self.max_gap, NoneType):
            problems.add(f"max_gap is not supported, got {self.max_gap!r}")
        mode = problems.attempt(lambda: _mode(self.mode))
        goal = None if self.max_error is None else problems.attempt(lambda: error_goal(self.max_error))
        if goal is not None and mode is not None and mode is not AnswerMode.APPROXIMATE:
            problems.add(f"max_error is for approximate answers, but its mode is {mode}")
        if goal is not None and isinstance(self.node, Node):
            problems.add("max_error is for aggregates, but it asks for the rows themselves")
        problems.raise_if_any()
        object.__setattr__(self, "mode", mode)
        object.__setattr__(self, "max_error", goal)
        object.__setattr__(self, "weight", float(self.weight))

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
        """What it asks, without name, weight, priority, mode and goal: the same text in every process and release.

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


def make_query(
    name: str,
    node: Node | Aggregate,
    weight: float,
    priority: int,
    mode: AnswerMode | str,
    max_error: ErrorGoal | str | float | None = None,
) -> Query:
    """Ask for the rows of a node or the answers of an aggregate; see `Node.query` and `Aggregate.query`."""
    return Query(name, node, weight, priority, cast(AnswerMode, mode), cast("ErrorGoal | None", max_error))


def _is_weight(weight: float) -> bool:
    return math.isfinite(weight) and weight >= 0


def _mode(mode: AnswerMode | str) -> AnswerMode:
    try:
        return AnswerMode(mode)
    except ValueError as error:
        raise InvalidNetworkError(
            f'unknown mode "{mode}", known are: {", ".join(AnswerMode)}{near_miss(str(mode), AnswerMode)}'
        ) from error
