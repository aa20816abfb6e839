"""What all nodes share: the way up, equality by structure, and the methods that add a node below."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import TYPE_CHECKING, Any

from streamshed.network.words.keywords import with_advice
from streamshed.network.words.words_of_spark import absent

if TYPE_CHECKING:
    from streamshed.network.model.grouping import Windowed
    from streamshed.network.model.query import AnswerMode, Query
    from streamshed.network.model.relation import Relation
    from streamshed.network.model.stream import Stream
    from streamshed.network.terms.join_condition import JoinKey
    from streamshed.network.terms.join_shedding import JoinMode


class Node(ABC):
    """Rows of one kind: a stream, or what an operator makes of it.

    Nodes are frozen; equal structure is equal objects, so the same operator written twice is shared.
    """

    @property
    @abstractmethod
    def columns(self) -> Mapping[str, str | None]:
        """Type by column name, in order; None where only Spark will know the type."""

    @property
    @abstractmethod
    def stream(self) -> "Stream":
        """The stream that its rows come from."""

    @property
    @abstractmethod
    def path(self) -> "tuple[Node, ...]":
        """The nodes from the stream, first, to this one, last."""

    @cached_property
    def address(self) -> str:
        """Its name among all nodes of a network: its stream and the operators on the way to it, " > " between them."""
        return " > ".join(map(str, self.path))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.address}>"

    @abstractmethod
    def columns_needed(self, used: AbstractSet[str]) -> frozenset[str]:
        """The columns it needs of its input where only some of its own are used."""

    @abstractmethod
    def definition(self, used: AbstractSet[str]) -> tuple[object, ...]:
        """What it does for the columns that are used, the same in every process and release.

        Its input is not part of it. Empty where it does nothing for them.
        """

    @property
    @abstractmethod
    def key(self) -> tuple[object, ...]:
        """What equality compares."""

    @cached_property
    def _hash(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Node):
            return NotImplemented
        return self._hash == other._hash and self.key == other.key

    def __hash__(self) -> int:
        return self._hash

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            raise absent(type(self).__name__.lower(), name)

    def __getstate__(self) -> dict[str, object]:
        """Leave out what is cached: hashes hold in one process only."""
        fields: Mapping[str, object] = getattr(type(self), "__dataclass_fields__", {})
        return {name: value for name, value in self.__dict__.items() if name in fields}

    @with_advice
    def filter(self, predicate: str) -> "Node":
        """Keep the rows for which an SQL predicate is true.

        Raises:
            InvalidExpressionError: The predicate cannot be read.
            InvalidNetworkError: It uses a column that does not exist.
        """
        from streamshed.network.model.operators import make_filter

        return make_filter(self, predicate)

    def map(self, **columns: str) -> "Node":
        """Add or replace columns by SQL expressions, all over the columns as they are before.

        Raises:
            InvalidNetworkError: Listing all that is wrong.
        """
        from streamshed.network.model.operators import make_map

        return make_map(self, columns)

    @with_advice
    def lookup(
        self,
        relation: "Relation",
        *,
        on: str | Sequence[str] | Mapping[str, str],
        columns: Sequence[str] | None = None,
    ) -> "Node":
        """Add the columns of the relation's row with the same key; a row without a partner leaves.

        Args:
            relation: The stored relation, one row per key.
            on: The key: a column of both, several, or {column of the stream: column of the relation}.
            columns: Which columns to add; None: all but the key.

        Raises:
            InvalidNetworkError: Listing all that is wrong.
        """
        from streamshed.network.model.lookup import make_join

        return make_join(self, relation, on, columns)

    @with_advice
    def semijoin(
        self, relation: "Relation", *, on: str | Sequence[str] | Mapping[str, str], negate: bool = False
    ) -> "Node":
        """Keep the rows that have a partner in the relation.

        Args:
            relation: The stored relation.
            on: The key: a column of both, several, or {column of the stream: column of the relation}.
            negate: Keep those that have none instead.

        Raises:
            InvalidNetworkError: Listing all that is wrong.
        """
        from streamshed.network.model.lookup import make_semijoin

        return make_semijoin(self, relation, on, negate=negate)

    @with_advice
    def join(  # noqa: PLR0913 - one argument per property of a join
        self,
        other: "Node",
        *,
        on: "JoinKey",
        within: str | Sequence[str],
        name: str | None = None,
        prefixes: Sequence[str] | None = None,
        time: str = "time",
        basic_window: str | None = None,
        policy: str = "greedy",
        mode: "JoinMode | str" = "subset",
        weight: str | None = None,
        memory: str | None = None,
        sampling: float = 0.1,
        sampled_side: str = "left",
    ) -> "Stream":
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
            >>> from streamshed.network.model.sources import rate
            >>> from streamshed.network.model.stream import stream
            >>> calls = stream("calls", rate(10), time="timestamp")
            >>> alerts = stream("alerts", rate(10), time="timestamp")
            >>> joined = calls.join(alerts, on="value", within="30 seconds")
            >>> list(joined.columns)
            ['time', 'calls_timestamp', 'calls_value', 'alerts_timestamp', 'alerts_value']
        """
        from streamshed.network.model.join import make_joined

        return make_joined(
            self,
            other,
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

    @with_advice
    def apply(self, function: Callable[..., Any] | str, *, columns: Sequence[str], into: str, returns: str) -> "Node":
        """Add a column computed by a vectorized Python function.

        Args:
            function: Takes one pandas Series per column and returns one; or its name, "module:function".
            columns: The columns it is given, in order.
            into: The column for what it returns.
            returns: The type of that column, such as "double".

        Raises:
            InvalidNetworkError: Listing all that is wrong.
        """
        from streamshed.network.model.operators import make_apply

        return make_apply(self, function, columns, into, returns)

    @with_advice
    def window(self, size: str | int, every: str | int | None = None, offset: str | int | None = None) -> "Windowed":
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
        from streamshed.network.model.grouping import make_windowed

        return make_windowed(self, size, every, offset)

    @with_advice
    def query(
        self,
        name: str,
        weight: float = 1.0,
        *,
        priority: int = 0,
        mode: "AnswerMode | str" = "approximate",
        latency: str | None = None,
    ) -> "Query":
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
        from streamshed.network.model.query import make_query

        return make_query(name, self, weight=weight, priority=priority, mode=mode, latency=latency)
