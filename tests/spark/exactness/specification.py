"""What a random network asks, written down apart from streamshed: every expression in Spark's and in DuckDB's SQL."""

from dataclasses import dataclass
from enum import StrEnum

MICROSECONDS = 1_000_000


class Kind(StrEnum):
    """The types that the generated columns have."""

    INTEGER = "integer"
    BIG = "big"
    DOUBLE = "double"
    DECIMAL = "decimal"
    TEXT = "text"
    DATE = "date"
    TIMESTAMP = "timestamp"
    LOCAL = "local"
    BOOLEAN = "boolean"
    BINARY = "binary"


@dataclass(frozen=True)
class Sql:
    """One expression in two dialects, and the type of its value."""

    spark: str
    duckdb: str
    kind: Kind


@dataclass(frozen=True)
class FilterStep:
    """Rows for which all the predicates are true; `joined` writes them as one filter, else one after the other."""

    predicates: tuple[Sql, ...]
    joined: bool = False


@dataclass(frozen=True)
class MapStep:
    """Columns added or replaced, all computed from the columns before."""

    assignments: tuple[tuple[str, Sql], ...]


class Partner(StrEnum):
    """What a lookup does with rows and their partners."""

    JOIN = "join"
    SEMIJOIN = "semijoin"
    ANTIJOIN = "antijoin"


@dataclass(frozen=True)
class LookupStep:
    """A lookup in the relation of that name: `on` are pairs (column of the row, column of the relation)."""

    relation: str
    on: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    partner: Partner


Step = FilterStep | MapStep | LookupStep


@dataclass(frozen=True)
class WindowSpec:
    """Size, slide and offset in microseconds."""

    size: int
    slide: int
    offset: int


@dataclass(frozen=True)
class AggregateSpec:
    """A function of SQL over an argument; None: count(*). With `where`, over the rows for which that is true.

    With `parts`, the argument is arithmetic over these, written with `{0}` and `{1}` in their places.
    """

    name: str
    function: str
    argument: Sql | None
    where: Sql | None = None
    parts: tuple["AggregateSpec", ...] = ()


FLOATING = frozenset({"avg", "variance", "var_pop", "stddev", "stddev_pop"})
"""Functions whose value is a double, whatever their argument is."""


def kind_of(call: AggregateSpec) -> Kind:
    """The type of a function's value."""
    if call.argument is None or call.function in {"count", "count_if", "count_distinct"}:
        return Kind.INTEGER
    return Kind.DOUBLE if call.parts or call.function in FLOATING else call.argument.kind


@dataclass(frozen=True)
class QuerySpec:
    """One query; without a window it is set-valued.

    Attributes:
        columns: The columns that its rows have after the steps, for set-valued queries.
    """

    name: str
    stream: str
    steps: tuple[Step, ...]
    window: WindowSpec | None
    keys: tuple[tuple[str, Sql], ...]
    aggregates: tuple[AggregateSpec, ...]
    columns: tuple[tuple[str, Kind], ...]


@dataclass(frozen=True)
class NetworkSpec:
    """The queries that one seed stands for."""

    seed: int
    queries: tuple[QuerySpec, ...]
