"""When a window closes that needs what comes later than it is stamped: when the last of that has come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from streamshed.network.terms.window import WindowSpecification


@dataclass(frozen=True)
class Closing:
    """What tells when the windows of an aggregate close.

    Attributes:
        windows: Those on the way to it, the one next to the stream first.
        delay: So much later than the watermark passes them the rows of its stream have come: those of a join of answers
            of windows, see `delay_of_stream`; of any other 0.
    """

    windows: Sequence[WindowSpecification]
    delay: int = 0


Nested = Mapping[int, Closing]
"""By `Query.definition_id`; the windows of all others close at their ends."""


def closing_of(nested: Nested, definition_id: Column, start: Column, otherwise: Column) -> Column:
    """Return when windows close, microseconds; see `evicted_at`.

    Args:
        nested: The aggregates whose windows close later than they end.
        definition_id: Whose window it is.
        start: Where it starts.
        otherwise: When windows of others close.
    """
    closing_time = otherwise
    for definition, closing in nested.items():
        closes = evicted_at(closing.windows, start) + closing.delay
        closing_time = F.when(definition_id == definition, closes).otherwise(closing_time)
    return closing_time


def ending_of(nested: Nested, definition_id: Column, start: Column, otherwise: Column) -> Column:
    """Return where windows end, microseconds, which may be before they close."""
    end = otherwise
    for definition, closing in nested.items():
        end = F.when(definition_id == definition, start + closing.windows[-1].size_microseconds).otherwise(end)
    return end


def delay_of(nested: Nested, definition_id: Column) -> Column:
    """Return how much later than the watermark passes them rows have come, microseconds."""
    delay = F.lit(0).cast("bigint")
    for definition, closing in nested.items():
        if closing.delay:
            delay = F.when(definition_id == definition, F.lit(closing.delay).cast("bigint")).otherwise(delay)
    return delay


def evicted_at(windows: Sequence[WindowSpecification], start: Column) -> Column:
    """Return when a window of the outermost of some nested aggregates closes.

    Answers are stamped with the start of their windows ([T06] §3.2), but come when these close. So it closes when the
    last does that it may hold, which is stamped just before it ends. Spark would call that late if the window closed at
    its end; and as all closing times follow from one watermark, what closes together leaves in one micro-batch.

    Args:
        windows: Those of the aggregates, the one next to the stream first.
        start: Where the window starts, microseconds.
    """
    *below, outermost = windows
    end = start + outermost.size_microseconds
    if not below:
        return end
    inner = below[-1]
    last = end - 1 - F.pmod(end - 1 - inner.offset_microseconds, F.lit(inner.slide_microseconds).cast("bigint"))
    return evicted_at(below, last)
