"""What is known of a network's rows, operator by operator and query by query ([B04] §2, Statistics Manager)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from streamshed.errors import InvalidStatisticsError
from streamshed.statistics.group_sizes import GroupSizes
from streamshed.statistics.join_statistics import JoinStatistics

if TYPE_CHECKING:
    from jsonschema import ValidationError

FORMAT = 1

UNSURE_DEVIATION = math.log(2)
"""Costs that are off by more than a factor of two, as likely as not by much more, are no measurement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamStatistics:
    """What is known of a stream.

    Args:
        rows_per_second: How many rows arrive, in the long run.
        read_seconds_per_row: What a row costs even if it is dropped directly after reading.
        parse_seconds_per_row: What a row costs on top before its first operator, if it is kept.
        event_seconds_per_second: How fast event time goes by; above 1 where what was recorded is played faster.
        rows_per_number: How many rows there are to a number, of a stream that has numbers in the place of time.
        row_deviation: How far off what its rows cost may be: the standard deviation of ln(seconds per row). Costs that
            a person told are taken as told.

    Raises:
        ValueError: A value is negative or not finite, or event time stands still.
    """

    rows_per_second: float
    read_seconds_per_row: float = 0.0
    parse_seconds_per_row: float = 0.0
    event_seconds_per_second: float = 1.0
    rows_per_number: float = 1.0
    row_deviation: float = 0.0

    def __post_init__(self) -> None:
        amounts = ("rows_per_second", "read_seconds_per_row", "parse_seconds_per_row", "rows_per_number")
        _check("stream", self, *amounts, "event_seconds_per_second", "row_deviation")
        if self.event_seconds_per_second == 0:
            raise ValueError("stream: event_seconds_per_second must be above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorStatistics:
    """What is known of an operator.

    Args:
        selectivity: s, rows out per row in; up to 1.
        seconds_per_row: t, what a row that comes in costs.
        is_measured: Whether that was measured of this operator by itself.

    Raises:
        ValueError: A value is out of range.
    """

    selectivity: float = 1.0
    seconds_per_row: float = 0.0
    is_measured: bool = False

    def __post_init__(self) -> None:
        _check("operator", self, "selectivity", "seconds_per_row")
        if self.selectivity > 1:
            raise ValueError(f"operator: its selectivity must be at most 1, got {self.selectivity}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """Mean μ, standard deviation σ and mean size E|v| of the values that an aggregate takes; of a count 1, 0 and 1.

    `present_share` is the share of the rows that have a value, not null: those that its FILTER lets pass.

    Raises:
        ValueError: The mean is not finite, the deviation negative or not finite, or the share not in (0, 1].

    Example:
        >>> Moments(mean=2.0, deviation=2.0).relative_square, Moments().relative_square
        (2.0, 1.0)
    """

    mean: float = 1.0
    deviation: float = 0.0
    size: float | None = None
    present_share: float = 1.0

    def __post_init__(self) -> None:
        _check("moments", self, "deviation")
        if not 0 < self.present_share <= 1:
            raise ValueError(f"moments: the share of rows with a value is in (0, 1], got {self.present_share}")
        if self.size is not None:
            _check("moments", self, "size")
        if not math.isfinite(self.mean):
            raise ValueError(f"moments: the mean must be finite, got {self.mean}")

    @property
    def mean_size(self) -> float:
        """E|v|, as far as it is known."""
        return abs(self.mean) if self.size is None else self.size

    @property
    def relative_square(self) -> float:
        """(σ²+μ²)/μ², infinite for a mean of 0."""
        return 1 + self.relative_variance

    @property
    def relative_variance(self) -> float:
        """σ²/μ², infinite for a mean of 0 unless all values are 0."""
        if self.deviation == 0:
            return 0.0
        return math.inf if self.mean == 0 else (self.deviation / self.mean) ** 2


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryStatistics:
    """What is known of a query.

    Args:
        seconds_per_row: What a row costs that the query takes: finding its slice and adding it there.
        seconds_per_group: g, what a group costs that has a row in a micro-batch.
        groups: How the rows of a window are spread over its groups; None for a query without keys.
        moments: By aggregate name, of the values it takes.

    Raises:
        ValueError: A cost is negative or not finite.
    """

    seconds_per_row: float = 0.0
    seconds_per_group: float = 0.0
    groups: GroupSizes | None = None
    moments: Mapping[str, Moments] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check("query", self, "seconds_per_row", "seconds_per_group")


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkStatistics:
    """All that is known of a network.

    What is missing is taken to be as the defaults of its kind say: an operator that passes all rows and costs nothing.

    Args:
        fixed_seconds: What a micro-batch costs without any row.
        streams: By name.
        operators: By `Node.address`.
        queries: By name.
        joins: By the name of the stream of their results.

    Example:
        >>> known = NetworkStatistics(
        ...     fixed_seconds=0.4,
        ...     streams={"packets": StreamStatistics(rows_per_second=1000.0)},
        ...     operators={"packets > filter proto = 6": OperatorStatistics(selectivity=0.8)},
        ...     queries={"tcp": QueryStatistics(moments={"bytes": Moments(mean=3.0)})},
        ... )
        >>> NetworkStatistics.from_json(known.to_json()) == known
        True
    """

    fixed_seconds: float = 0.0
    streams: Mapping[str, StreamStatistics] = field(default_factory=dict)
    operators: Mapping[str, OperatorStatistics] = field(default_factory=dict)
    queries: Mapping[str, QueryStatistics] = field(default_factory=dict)
    joins: Mapping[str, JoinStatistics] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check("network", self, "fixed_seconds")

    @classmethod
    def together(cls, parts: Sequence[NetworkStatistics]) -> NetworkStatistics:
        """Return what is known of a network from what is known of each of its time domains."""
        return cls(
            fixed_seconds=sum(part.fixed_seconds for part in parts),
            streams={name: known for part in parts for name, known in part.streams.items()},
            operators={address: known for part in parts for address, known in part.operators.items()},
            queries={name: known for part in parts for name, known in part.queries.items()},
            joins={name: known for part in parts for name, known in part.joins.items()},
        )

    def stream(self, name: str) -> StreamStatistics:
        """Return what is known of a stream."""
        return self.streams.get(name, StreamStatistics(rows_per_second=0.0))

    @property
    def unsure_streams(self) -> Mapping[str, float]:
        """By stream whose costs per row are uncertain in spite of measurements, the factor that they may be off by."""
        return {
            name: math.exp(stream.row_deviation)
            for name, stream in self.streams.items()
            if stream.row_deviation > UNSURE_DEVIATION
        }

    def join(self, name: str) -> JoinStatistics:
        """Return what is known of a join, or a guess."""
        return self.joins.get(name, JoinStatistics())

    def to_json(self) -> str:
        """Write the statistics as an object of JSON, for `from_json`."""
        document = {
            "format": FORMAT,
            "fixed_seconds": self.fixed_seconds,
            "streams": {name: asdict(known) for name, known in self.streams.items()},
            "operators": {address: asdict(known) for address, known in self.operators.items()},
            "queries": {name: _query_to_json(known) for name, known in self.queries.items()},
            "joins": {name: asdict(known) for name, known in self.joins.items()},
        }
        return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> NetworkStatistics:
        """Read a document that `to_json` or a person wrote; what is left out has its default.

        Raises:
            InvalidStatisticsError: It cannot be read: all that is wrong, and where.
        """
        from jsonschema import Draft202012Validator

        try:
            document = json.loads(text)
        except json.JSONDecodeError as error:
            raise InvalidStatisticsError(f"statistics: this is no JSON: {error}") from error
        problems = [_schema_problem(error) for error in Draft202012Validator(_SCHEMA).iter_errors(document)]
        if problems:
            raise InvalidStatisticsError(f"statistics: {'; '.join(sorted(problems))}")
        return cls(
            fixed_seconds=document.get("fixed_seconds", 0.0),
            streams={name: StreamStatistics(**body) for name, body in document.get("streams", {}).items()},
            operators={name: OperatorStatistics(**body) for name, body in document.get("operators", {}).items()},
            queries={name: _query_from_json(body) for name, body in document.get("queries", {}).items()},
            joins={name: JoinStatistics(**body) for name, body in document.get("joins", {}).items()},
        )


def _check(kind: str, statistics: object, *fields: str) -> None:
    for name in fields:
        value = getattr(statistics, name)
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{kind}: {name} must be finite and at least 0, got {value}")


def _query_to_json(query: QueryStatistics) -> dict[str, Any]:
    return {
        "seconds_per_row": query.seconds_per_row,
        "seconds_per_group": query.seconds_per_group,
        "groups": None if query.groups is None else query.groups.sizes,
        "moments": {aggregate: asdict(moments) for aggregate, moments in query.moments.items()},
    }


def _query_from_json(body: Mapping[str, Any]) -> QueryStatistics:
    sizes = body.get("groups")
    return QueryStatistics(
        seconds_per_row=body.get("seconds_per_row", 0.0),
        seconds_per_group=body.get("seconds_per_group", 0.0),
        groups=GroupSizes(tuple((rows, groups) for rows, groups in sizes)) if sizes else None,
        moments={aggregate: Moments(**moments) for aggregate, moments in body.get("moments", {}).items()},
    )


def _schema_problem(error: ValidationError) -> str:
    return f"{error.json_path.removeprefix('$').lstrip('.') or 'the document'}: {error.message}"


_AMOUNT = {"type": "number", "minimum": 0}
_SHARE = {"type": "number", "exclusiveMinimum": 0, "maximum": 1}
_AMOUNT_IF_KNOWN = {**_AMOUNT, "type": ["number", "null"]}


def _of(required: list[str], **properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _by_name(body: object) -> dict[str, object]:
    return {"type": "object", "additionalProperties": body}


_SCHEMA = _of(
    [],
    format={"const": FORMAT},
    fixed_seconds=_AMOUNT,
    streams=_by_name(
        _of(
            ["rows_per_second"],
            rows_per_second=_AMOUNT,
            read_seconds_per_row=_AMOUNT,
            parse_seconds_per_row=_AMOUNT,
            event_seconds_per_second={"type": "number", "exclusiveMinimum": 0},
            rows_per_number=_AMOUNT,
            row_deviation=_AMOUNT,
        )
    ),
    operators=_by_name(
        _of([], selectivity={**_AMOUNT, "maximum": 1}, seconds_per_row=_AMOUNT, is_measured={"type": "boolean"})
    ),
    queries=_by_name(
        _of(
            [],
            seconds_per_row=_AMOUNT,
            seconds_per_group=_AMOUNT,
            groups={
                "type": ["array", "null"],
                "items": {
                    "type": "array",
                    "prefixItems": [{**_AMOUNT, "minimum": 1}, _AMOUNT],
                    "minItems": 2,
                    "maxItems": 2,
                },
            },
            moments=_by_name(
                _of([], mean={"type": "number"}, deviation=_AMOUNT, size=_AMOUNT_IF_KNOWN, present_share=_SHARE)
            ),
        )
    ),
    joins=_by_name(
        _of(
            [],
            left_rows_per_second=_AMOUNT_IF_KNOWN,
            right_rows_per_second=_AMOUNT_IF_KNOWN,
            compared_share={**_AMOUNT, "maximum": 1},
            fixed_seconds=_AMOUNT,
            seconds_per_row=_AMOUNT,
            seconds_per_basic_window=_AMOUNT,
            seconds_per_comparison=_AMOUNT,
            seconds_per_result=_AMOUNT,
            results_per_comparison=_AMOUNT,
        )
    ),
)
