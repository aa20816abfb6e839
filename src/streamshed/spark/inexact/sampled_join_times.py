"""The event times at which only a sample of a join's results is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from streamshed.answering.table.shed_interval import ShedInterval, share_name
from streamshed.joins.choose.directive import JoinDirective
from streamshed.joins.model.side import Side
from streamshed.joins.windows.forgotten import EventTimes
from streamshed.network.model.join_source import JoinSource
from streamshed.network.model.stream import Stream
from streamshed.planning.tree.quantization import sampling_rate_of
from streamshed.sharing.intake import Intake
from streamshed.spark.joins.join_drawing import sampled_side_of


def sampled_join_times(
    streams: Iterable[Stream],
    intakes: Mapping[str, Sequence[Intake]],
    directives: Mapping[str, JoinDirective],
    times: Mapping[str, EventTimes],
) -> list[ShedInterval]:
    """Return the event times at which this micro-batch and later ones have only a sample of a join's results.

    A result has the event time of the later of its two rows, so no new result is earlier than the earliest new row. The
    results of a new row that is not drawn end when that row stops waiting for partners, or with the latest row of the
    other side if that is later.

    Args:
        streams: Of the time domain.
        intakes: By stream, where its rows are taken in.
        directives: By joined stream, what is done of its join; a join that is left out is done in full.
        times: By source, the first and last event times of the new rows, and of those before if these are later.
    """
    return [
        ShedInterval(
            stream=stream.name,
            start=start,
            until=until,
            sampling_rates=dict.fromkeys(_shares_of(intakes[stream.name]), sampling_rate_of(directive.sampling_code)),
        )
        for stream in streams
        if stream.joined is not None
        and (directive := directives.get(stream.name)) is not None
        and directive.sampling_code
        for start, until in [_times_of(stream.joined, times)]
    ]


def _times_of(join: JoinSource, times: Mapping[str, EventTimes]) -> EventTimes:
    left, right = (times[side.stream.name] for side in (join.left, join.right))
    is_left = sampled_side_of(join) is Side.LEFT
    waits = join.left_microseconds if is_left else join.right_microseconds
    drawn, other = (left, right) if is_left else (right, left)
    return min(left[0], right[0]), max(drawn[1] + waits, other[1])


def for_all_queries(
    shed: Iterable[ShedInterval], streams: Iterable[Stream], intakes: Mapping[str, Sequence[Intake]]
) -> list[ShedInterval]:
    """Return earlier shed intervals, those of sampled joins completed by the queries that were added since.

    Windows of an added query hold results of rows that were drawn before it came.

    Args:
        shed: The earlier intervals.
        streams: Of the time domain.
        intakes: By stream, where its rows are taken in.
    """
    shares_by_stream = {
        stream.name: list(_shares_of(intakes[stream.name])) for stream in streams if stream.is_sampled_join
    }
    return [
        replace(
            interval,
            sampling_rates=dict.fromkeys(shares_by_stream[interval.stream], min(sampling_rates))
            | dict(interval.sampling_rates),
        )
        if interval.stream in shares_by_stream and (sampling_rates := interval.sampling_rates.values())
        else interval
        for interval in shed
    ]


def _shares_of(intakes: Sequence[Intake]) -> Iterable[str]:
    return (share_name(*share) for intake in intakes for share in intake.shares)
