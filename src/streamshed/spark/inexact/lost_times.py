"""Which event times rows may have had that a broker deleted before they were read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from streamshed.answering.table.shed_interval import UNSETTLED, ShedInterval, remembered
from streamshed.network.model.stream import Stream
from streamshed.spark.domain_facts import DomainFacts
from streamshed.spark.inexact.shed_times import settled
from streamshed.spark.plan.plan_row import PlanRow


def lost_times(
    lost: Mapping[str, float],
    facts: DomainFacts,
    opened: int,
    last: PlanRow | None,
    latest_event: Mapping[str, int],
) -> tuple[ShedInterval, ...]:
    """Return the event times of lost rows, of this micro-batch and those before, with the share of rows that is there.

    Nobody has read them, so they may touch all windows that are open: those of windows over answers of others, too,
    which reach back by the longest window. They came before rows that were read since, so they are no later than the
    latest of these, plus the watermark.

    Args:
        lost: By stream that a micro-batch lacks rows of, which share is there.
        facts: What never changes.
        opened: The watermark that decides lateness, microseconds.
        last: The plan of the one before.
        latest_event: By stream, the latest event time after that.
    """
    since = opened - facts.longest_window
    lasting = [] if last is None else [settled(one, last, facts.streams, latest_event) for one in last.lost]
    coming = [
        ShedInterval(
            stream=name,
            start=since,
            until=UNSETTLED,
            sampling_rates=dict.fromkeys(_made_of(name, facts.streams), share),
        )
        for name, share in lost.items()
    ]
    return remembered([*lasting, *coming], since=since)


def _made_of(name: str, streams: Sequence[Stream]) -> Iterator[str]:
    """The stream, and those that are joined of it."""
    for stream in streams:
        if name in _sources(stream):
            yield stream.name


def _sources(stream: Stream) -> frozenset[str]:
    if stream.joined is None:
        return frozenset({stream.name})
    return _sources(stream.joined.left.stream) | _sources(stream.joined.right.stream)
