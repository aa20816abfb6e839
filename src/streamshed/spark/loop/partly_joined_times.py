"""Event times of results of joins that may be missing: comparisons were left out, or rows released for memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from streamshed.answering.table.shed_interval import UNSETTLED, ShedInterval, remembered, share_name
from streamshed.joins.choose.directive import JoinDirective
from streamshed.joins.windows.forgotten import EventTimes
from streamshed.network.model.stream import Stream
from streamshed.planning.load.join_delay import delay_of_stream
from streamshed.sharing.intake import Intake
from streamshed.spark.domain_facts import DomainFacts
from streamshed.spark.loop.join_planner import JoinPlanner
from streamshed.spark.plan.plan_row import PlanRow


@dataclass(frozen=True, kw_only=True)
class ComingRows:
    """What is known of the rows of a micro-batch before it runs.

    Attributes:
        micro_batch_id: Which.
        rows: By source, how many.
        times: By source, their first and last event time, or what these may be.
        opened: The watermark, microseconds.
    """

    micro_batch_id: int
    rows: Mapping[str, int]
    times: Mapping[str, EventTimes]
    opened: int


def all_partly_joined(
    joins: JoinPlanner,
    facts: DomainFacts,
    directives: Mapping[str, JoinDirective],
    coming: ComingRows,
    last: PlanRow | None,
) -> tuple[ShedInterval, ...]:
    """Return event times at which results of joins may be missing, of this micro-batch and those before.

    Args:
        joins: Plans joins.
        facts: What never changes.
        directives: By joined stream, what of its join is done.
        coming: The rows of the micro-batch.
        last: The plan of the one before.
    """
    intervals = [
        interval
        for stream in facts.streams
        for interval in partly_joined_times(
            joins, stream, facts.intakes[stream.name], directives.get(stream.name), coming, last
        )
    ]
    since = coming.opened - facts.longest_window
    return lasting(() if last is None else last.partly_joined, intervals, since=since)


def partly_joined_times(
    joins: JoinPlanner,
    stream: Stream,
    intakes: Sequence[Intake],
    directive: JoinDirective | None,
    coming: ComingRows,
    last: PlanRow | None,
) -> Iterator[ShedInterval]:
    """Yield the event times of results of one join that may be missing, with the share that is to be expected.

    Args:
        joins: Plans joins.
        stream: A stream; one that is not joined misses nothing.
        intakes: Where its rows are taken in.
        directive: What is done of the join; None: all of it.
        coming: The rows of the micro-batch.
        last: The plan of the one before.
    """
    if stream.joined is None:
        return
    intervals: list[tuple[EventTimes, float]] = []
    delay = delay_of_stream(stream)
    # Answers come when their windows close: those of windows that were open before.
    opened = coming.opened - delay
    if directive is not None and not directive.is_full and not directive.sampling_code:
        # From the earliest new row on, to the latest of all.
        sides = [coming.times[side.stream.name] for side in (stream.joined.left, stream.joined.right)]
        times = min(start for start, _ in sides), max(until for _, until in sides)
        if delay:
            times = min(times[0], opened), times[1]
        intervals.append((times, joins.delivered_share(stream.name, directive, coming.rows)))
    before = None if last is None else last.streams.get(stream.name)
    missing, share = joins.missing(
        stream.name, coming.micro_batch_id, None if before is None else before.join, opened=opened
    )
    intervals += [(times, share) for times in missing]
    for (start, until), delivered in intervals:
        shares = {share_name(*one): delivered for intake in intakes for one in intake.shares}
        yield ShedInterval(stream=stream.name, start=start, until=until, sampling_rates=shares)


def lasting(before: Sequence[ShedInterval], now: Sequence[ShedInterval], *, since: int) -> tuple[ShedInterval, ...]:
    """Join what was told before and what is told now; what has no end holds for one micro-batch.

    Args:
        before: What the plan before told.
        now: What is new.
        since: What ended before is forgotten.

    Example:
        >>> old = ShedInterval(stream="s", start=0, until=10, sampling_rates={"7.0": 0.5})
        >>> crashed = ShedInterval(stream="s", start=5, until=UNSETTLED, sampling_rates={"7.0": 0.9})
        >>> after = lasting([old], [crashed], since=0)
        >>> after == (old, crashed), lasting(after, [], since=0) == (old,)
        (True, True)
    """
    ended = [one for one in (*before, *now) if one.until != UNSETTLED]
    return (*remembered(ended, since=since), *(one for one in now if one.until == UNSETTLED))
