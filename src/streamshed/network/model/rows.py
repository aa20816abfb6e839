"""How users write a network: rows, and the methods that make other rows, windows and queries of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamshed.errors import InvalidNetworkError, Problem
from streamshed.network.model.grouping import GroupKey, make_aggregate, make_keys, make_window
from streamshed.network.model.join import make_joined
from streamshed.network.model.lookup import make_join, make_semijoin
from streamshed.network.model.node import Node
from streamshed.network.model.operators import make_apply, make_filter, make_map
from streamshed.network.model.query import AnswerMode, Query, make_query
from streamshed.network.model.relation import Relation
from streamshed.network.model.stream import Stream
from streamshed.network.terms.derivation import Answered
from streamshed.network.terms.gap import GapsBy, GapTolerance
from streamshed.network.terms.goal import ErrorGoal
from streamshed.network.terms.join_condition import JoinKey
from streamshed.network.terms.join_shedding import JoinMode
from streamshed.network.terms.window import WindowSpecification
from streamshed.network.words.given import is_a
from streamshed.network.words.keywords import with_advice
from streamshed.network.words.words_of_spark import absent


@dataclass(frozen=True, repr=False)
class Rows:
    """Rows of one kind, to be written on with: a stream, or what an operator makes of it.

    Each method returns new rows; none changes these. Rows are equal where they are made alike.

    Attributes:
        node: What they are.
    """

    node: Node

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            kind = type(self.__dict__["node"]).__name__.lower() if "node" in self.__dict__ else "rows"
            raise absent(kind, name)

    @property
    def columns(self) -> Mapping[str, str | None]:
        """Type by column name, in order; None where only Spark will know the type."""
        return self.node.columns

    @property
    def address(self) -> str:
        """What statistics, samplers and the journal call them."""
        return self.node.address

    @property
    def stream(self) -> Stream:
        """The stream that they come from."""
        return self.node.stream

    def __repr__(self) -> str:
        return repr(self.node)

    def __str__(self) -> str:
        return str(self.node)

    @with_advice
    def filter(self, predicate: str) -> Rows:
        """Keep the rows for which an SQL predicate is true.

        Raises:
            InvalidExpressionError: The predicate cannot be read.
            InvalidNetworkError: It uses a column that does not exist.
        """
        return Rows(make_filter(self.node, predicate))

    def map(self, **columns: str) -> Rows:
        """Add or replace columns by SQL expressions, all over the columns as they are before.

        Raises:
            InvalidNetworkError: Listing all that is wrong.
        """
        return Rows(make_map(self.node, columns))

    @with_advice
    def lookup(
        self,
        relation: Relation,
        *,
        on: str | Sequence[str] | Mapping[str, str],
        columns: Sequence[str] | None = None,
    ) -> Rows:
        """Add the columns of the relation's row with the same key; a row without a partner leaves.

        Args:
            relation: The stored relation, one row per key.
            on: The key: a column of both, several, or {column of the stream: column of the relation}.
            columns: Which columns to add; None: all but the key.

        Raises:
            InvalidNetworkError: Listing all that is wrong.
        """
        return Rows(make_join(self.node, relation, on, columns))

    @with_advice
    def semijoin(
        self, relation: Relation, *, on: str | Sequence[str] | Mapping[str, str], negate: bool = False
    ) -> Rows:
        """Keep the rows that have a partner in the relation.

        Args:
            relation: The stored relation.
            on: The key: a column of both, several, or {column of the stream: column of the relation}.
            negate: Keep those that have none instead.

        Raises:
            InvalidNetworkError: Listing all that is wrong.
        """
        return Rows(make_semijoin(self.node, relation, on, negate=negate))

    @with_advice
    def join(  # noqa: PLR0913 - one argument per property of a join
        self,
        other: Rows,
        *,
        on: JoinKey,
        within: str | Sequence[str],
        name: str | None = None,
        prefixes: Sequence[str] | None = None,
        time: str = "time",
        basic_window: str | None = None,
        policy: str = "greedy",
        mode: JoinMode | str = "subset",
        weight: str | None = None,
        memory: str | None = None,
        sampling: float = 0.1,
        sampled_side: str = "left",
    ) -> Rows:
        """Join rows with those of another stream of the same clock that are near in time.

        A left row (of this node) of time t1 and a right row (of the other) of time t2 join iff they meet the condition
        and −w2 ≤ t2 − t1 ≤ w1. The pairs are rows of a new stream: all columns of both, and the later of the two times.
        Either may be answers of windows, or what operators make of these: their time is where the window starts.

        Args:
            other: The rows to join with.
            on: Columns that must be equal: one of both sides, several, or {column of this: column of the other}; or
                `overlap(...)`, `inner_product(...)`, `pairs_where(function)`.
            within: w1 and w2, such as ("30 seconds", "5 seconds"): how long left rows wait for later right ones, and
                right rows for later left ones; one time is both.
            name: The new stream's name; None: the names of both, "_" between them.
            prefixes: What the names of both sides' columns begin with in a pair; None: the name of the stream and "_".
            time: The column of a pair's time.
            basic_window: How finely windows are cut, which is how finely comparisons are shed; None: it is chosen while
                the join is shed, a twentieth of the longer window or 2, 4, 8, ... times that.
            policy: How what is compared is chosen under overload, in mode subset: "greedy", "direction",
                "time_correlation", "rate_adaptation" or "random_drop".
            mode: What its results are under overload: "subset" (some of them, each one right), "exact" (all: it is
                never shed) or "sample" (those of a share P of the rows of one side, drawn by chance, each standing for
                1/P, so that counts, sums and averages over it are estimates with error bounds).
            weight: What a result is worth, SQL over the columns of pairs; None: all are worth the same. In mode subset.
            memory: How much the windows of both sides may take, such as "512 MB": rows that promise least are forgotten
                where they would take more; None: as much as they have. In mode subset.
            sampling: γ: of what is compared under overload, the share spent on learning where results are found.
            sampled_side: In mode sample, whose rows are drawn, "left" or "right". Errors are least where no single row
                of that side has many of the results.

        Raises:
            InvalidNetworkError: Listing all that is wrong.

        Example:
            >>> from streamshed.network.source.sources import rate
            >>> from streamshed.network.model.declared_stream import stream
            >>> calls = stream("calls", rate(10), time="timestamp")
            >>> alerts = stream("alerts", rate(10), time="timestamp")
            >>> joined = calls.join(alerts, on="value", within="30 seconds")
            >>> list(joined.columns)
            ['time', 'calls_timestamp', 'calls_value', 'alerts_timestamp', 'alerts_value']
        """
        if not is_a(other, Rows):
            raise InvalidNetworkError(Problem("a join needs a stream, or what operators make of one", got=repr(other)))
        joined = make_joined(
            self.node,
            other.node,
            on=on,
            within=within,
            name=name,
            prefixes=prefixes,
            time=time,
            basic_window=basic_window,
            policy=policy,
            mode=mode,
            weight=weight,
            memory=memory,
            sampling=sampling,
            sampled_side=sampled_side,
        )
        return Rows(joined)

    @with_advice
    def apply(self, function: Callable[..., Any] | str, *, columns: Sequence[str], into: str, returns: str) -> Rows:
        """Add a column computed by a vectorized Python function.

        Args:
            function: Takes one pandas Series per column and returns one; or its name, "module:function".
            columns: The columns it is given, in order.
            into: The column for what it returns.
            returns: The type of that column, such as "double".

        Raises:
            InvalidNetworkError: Listing all that is wrong.
        """
        return Rows(make_apply(self.node, function, columns, into, returns))

    @with_advice
    def window(self, size: str | int, every: str | int | None = None, offset: str | int | None = None) -> Windowed:
        """Cut event time, or the numbers of a stream that has them, into windows, to be grouped and aggregated.

        Windows may hold so many rows of each group, too, in order of their time: `window("100 rows", every="10 rows")`.

        Args:
            size: How long a window is, such as "5 minutes"; along numbers, such as 1000; or "100 rows".
            every: How far apart windows start; None: one after the other.
            offset: When the first window starts after 1970-01-01 00:00:00 UTC, or after 0; None: at once. Windows of
                so many rows have none.

        Raises:
            InvalidNetworkError: Listing all that is wrong, such as a slide that exceeds the size.
        """
        return Windowed(self.node, make_window(self.node, size, every, offset))

    @with_advice
    def query(
        self,
        name: str,
        weight: float = 1.0,
        *,
        priority: int = 0,
        mode: AnswerMode | str = "approximate",
        latency: str | None = None,
    ) -> Query:
        """Ask for the rows themselves.

        Args:
            name: The query's name.
            weight: How much its error counts beside that of others.
            priority: Queries of higher priority are shed last.
            mode: "approximate", "exact" or "subset".
            latency: The goal from a row's arrival to its answer, such as "5 seconds"; by default that of the run.

        Raises:
            InvalidNetworkError: Listing all that is wrong.
        """
        return make_query(name, self.node, weight=weight, priority=priority, mode=mode, latency=latency)


@dataclass(frozen=True, repr=False)
class Answers(Rows):
    """Answers of an aggregate, which are rows, too."""

    @with_advice
    def query(
        self,
        name: str,
        weight: float = 1.0,
        *,
        priority: int = 0,
        mode: AnswerMode | str = "approximate",
        max_error: ErrorGoal | str | float | None = None,
        max_gap: GapTolerance | str | int | None = None,
        gaps_by: GapsBy | str = "window",
        latency: str | None = None,
    ) -> Query:
        """Ask for the answers.

        Args:
            name: The query's name.
            weight: How much its error counts beside that of others.
            priority: Queries of higher priority are shed last.
            mode: "approximate", "exact" or "subset".
            max_error: The error its answers should stay within, such as "2 % at 95 %": under overload it gets the rows
                that this takes before others get more than they need, as far as the load allows. 0.02 is "2 % at 95 %".
            max_gap: In mode "subset", the most answers in a row that may be missing: a number of windows, by default 1,
                or a time such as "10 minutes"; 0: none may.
            gaps_by: In mode "subset", "window" if a window is dropped for all groups at once, "group" if each group has
                gaps of its own: then every window is delivered for some of the groups. The keys must be columns of the
                stream itself, perhaps cast to text.
            latency: The goal from a row's arrival to its answer, such as "5 seconds"; by default that of the run.

        Raises:
            InvalidNetworkError: Listing all that is wrong.
        """
        return make_query(
            name,
            self.node,
            weight=weight,
            priority=priority,
            mode=mode,
            max_error=max_error,
            max_gap=max_gap,
            gaps_by=gaps_by,
            latency=latency,
        )


@dataclass(frozen=True)
class Windowed:
    """Rows cut into windows, perhaps grouped: what `agg` aggregates.

    Attributes:
        node: What the rows are.
        window: The windows.
        keys: What the rows of each window are grouped by; empty: by nothing.
    """

    node: Node
    window: WindowSpecification
    keys: tuple[GroupKey, ...] = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            raise absent("windows", name)

    def by(self, *columns: str, **expressions: str) -> Windowed:
        """Group the rows of each window.

        Args:
            *columns: Columns to group by.
            **expressions: SQL expressions to group by, by the name of the key, such as
                `port_class="src_port div 1000"`.

        Raises:
            InvalidNetworkError: Listing all that is wrong.
        """
        return Windowed(self.node, self.window, (*self.keys, *make_keys(self.node, columns, expressions)))

    def agg(self, **aggregates: str | Answered) -> Answers:
        """Aggregate each window and group.

        Args:
            **aggregates: Calls such as `sum(size)` or `count(*)`, arithmetic over several such as
                `sum(size) / count(*)`, or what `user_aggregate` returns, by the name of the answer.

        Raises:
            InvalidNetworkError: Listing all that is wrong.
        """
        return Answers(make_aggregate(self.node, self.window, self.keys, aggregates))
