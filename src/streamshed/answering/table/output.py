"""Which answers come out of which window partials: per query definition and value slot, what is asked by name."""

from __future__ import annotations

from dataclasses import dataclass

from streamshed.answering.table.user_methods import UserShape
from streamshed.answering.table.value_kind import Notation, ValueKind
from streamshed.network.model.grouping import PartOf
from streamshed.network.terms.aggregate import AggregateKind


@dataclass(frozen=True)
class Shape:
    """What answers that are computed alike have in common.

    Attributes:
        function: What is aggregated how.
        counts_rows: For counts: rows, not values.
        value: How the aggregated value travels; None for count(*) and types without order.
        key_notations: Per key, how its text is to be written.
        share: Of a quantile, the share of all values that does not exceed it.
        user: Of an aggregate of the user's own, how it is computed.
        in_cohorts: Whether its rows come many at once, with rows of a join that are drawn.
        parts: How many aggregates are to be within their bounds at a time, as parts of one answer.
    """

    function: AggregateKind
    counts_rows: bool
    value: ValueKind | None
    key_notations: tuple[Notation, ...]
    share: float | None = None
    user: UserShape | None = None
    in_cohorts: bool = False
    parts: int = 1

    def each_within(self, confidence: float) -> float:
        """Return with which confidence each part's bounds have to hold, so that those of all hold with another one.

        Formula: 1 − (1 − c)/parts, by Bonferroni's inequality, whatever they have to do with each other.
        """
        return 1.0 - (1.0 - confidence) / self.parts


@dataclass(frozen=True)
class Output:
    """One aggregate of one query; of a set-valued query, its rows.

    Attributes:
        query: The query's name.
        stream: Name of the stream it is computed from.
        aggregate: The aggregate's name.
        shape: How it is computed.
        definition_id: Where it is found in state.
        slot: Likewise.
        is_by_count: Whether its windows hold so many rows.
        part: What it is a part of; None: it is an answer itself.
    """

    query: str
    stream: str
    aggregate: str
    shape: Shape
    definition_id: int
    slot: int
    is_by_count: bool = False
    part: PartOf | None = None
