"""When what was shed was: told of the queries of the present network, and settled once more is known."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace

from streamshed.answering.table.shed_interval import UNSETTLED, ShedInterval, remembered, share_name
from streamshed.network.model.stream import Stream
from streamshed.planning.tree.quantization import WHOLE, sampling_rate_of
from streamshed.sharing.counted_rows import Role, role_of
from streamshed.spark.domain_facts import DomainFacts
from streamshed.spark.inexact.sampled_join_times import for_all_queries
from streamshed.spark.plan.plan_row import PlanRow


def settled(
    interval: ShedInterval, last: PlanRow, streams: Sequence[Stream], latest_event: Mapping[str, int]
) -> ShedInterval:
    """Say up to where rows were shed, once nothing of a micro-batch was, and it brought a later event.

    Rows that come later are no earlier, but for the watermark: what was shed before this latest event is no later than
    that, plus the watermark.

    Args:
        interval: What was shed.
        last: The plan of the last micro-batch.
        streams: Of the time domain.
        latest_event: By stream, the latest event time after that micro-batch.
    """
    stream = next((stream for stream in streams if stream.name == interval.stream), None)
    plan = last.streams.get(interval.stream)
    if interval.until != UNSETTLED or stream is None or plan is None:
        return interval
    before, latest = last.latest_event.get(stream.name), latest_event.get(stream.name)
    was_whole = plan.sampling_code == WHOLE and not plan.share_codes
    if not was_whole or latest is None or (before is not None and latest <= before):
        return interval
    return replace(interval, until=latest + stream.watermark_microseconds)


def shed_before(last: PlanRow | None, facts: DomainFacts, latest_event: Mapping[str, int]) -> list[ShedInterval]:
    """Return what was shed up to a micro-batch, told of all queries, as far as it is known by now.

    Args:
        last: Its plan; None: there was none.
        facts: What never changes.
        latest_event: By stream, the latest event time after it.
    """
    if last is None:
        return []
    intervals = for_all_queries(last.shed, facts.streams, facts.intakes)
    return [settled(interval, last, facts.streams, latest_event) for interval in intervals]


def shed_now(
    codes: Mapping[str, Mapping[str, int]],
    in_blocks: Container[str],
    times_of: Callable[[str], tuple[int, int]],
) -> Iterator[ShedInterval]:
    """Yield the event times at which rows of a micro-batch may be missing, and by which rates.

    Args:
        codes: By stream and `share_name`, the codes of the rates.
        in_blocks: The streams of which blocks are left unread.
        times_of: Returns the first and last event time of what may be missing of a stream.
    """
    for name, of_stream in codes.items():
        sampled = {share: sampling_rate_of(code) for share, code in of_stream.items() if code != WHOLE}
        if sampled:
            start, until = times_of(name)
            yield ShedInterval(
                stream=name, start=start, until=until, sampling_rates=sampled, in_blocks=name in in_blocks
            )


def told_of_all(row: PlanRow, facts: DomainFacts, delays: Mapping[str, int], times: tuple[int, int]) -> PlanRow:
    """Let a plan that an earlier network wrote down tell of this one's queries, too: they get the stream's rate.

    Args:
        row: The plan; an equal one is returned where it lacks none.
        facts: What never changes.
        delays: By stream, how much later its rows come than those of its sources, microseconds.
        times: First and last event time of what its micro-batch may have shed.
    """
    shed = for_all_queries(row.shed, facts.streams, facts.intakes)
    start, until = times
    for name, plan in row.streams.items():
        if plan.sampling_code == WHOLE:
            continue
        missing = {
            share_name(*share)
            for intake in facts.intakes.get(name, ())
            for share in intake.shares
            if role_of(share[1]) is Role.VALUES
        } - set(plan.share_codes)
        if missing:
            sampled = dict.fromkeys(sorted(missing), plan.sampling_rate)
            begin = start - delays.get(name, 0)
            in_blocks = plan.blocks is not None
            shed.append(
                ShedInterval(stream=name, start=begin, until=until, sampling_rates=sampled, in_blocks=in_blocks)
            )
    of_all = row.shed if shed == list(row.shed) else remembered(shed, since=0)
    return replace(row, shed=of_all, whole_since=facts.whole_since(row.open))
