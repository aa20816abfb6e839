"""The carriers' clock: how far each stream's event time is known to have come, silent streams included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from streamshed.network.model.stream import Stream
from streamshed.spark.loop.silence import Silence
from streamshed.spark.plan.plan_row import PlanRow
from streamshed.spark.source.event_times import CLOCK_TOLERANCE
from streamshed.spark.source.progress import MicroBatchReport
from streamshed.spark.source.upcoming_rows import EventBounds, StreamRows

DEFAULT_IDLE_MICROSECONDS = 60_000_000

_SECOND = 1_000_000
_MILLISECOND = 1_000
"""Spark's watermarks are whole milliseconds."""


class CarrierClock:
    """Keeps the event time that each stream's carrier may show.

    A stream that has rows is at its latest event. One that has had none for its idle time, or none that could be read,
    is taken to be where the others are, and if all are silent, to move on as the wall clock does. Where nobody ever had
    an event, time moves on from the epoch: slices then hold but rows that could not be read, and the first event is
    later than all that.

    Numbers do not move on by themselves: streams that have them wait for the next row.

    Args:
        streams: The streams of the time domain.
        last: The last plan before a restart.
        watermark: The one after the last micro-batch before a restart, microseconds; 0: there is none. That plan was
            made before the micro-batch ran, and may not know how far its rows went: the windows that the watermark
            has passed would be without answers and gaps.
    """

    def __init__(self, streams: Sequence[Stream], last: PlanRow | None = None, watermark: int = 0) -> None:
        self._streams = {stream.name: stream for stream in streams}
        self._is_numbered = streams[0].is_numbered
        self.latest_event: dict[str, int] = {} if last is None else _at_least(last, watermark, self._streams)
        self._silence = Silence(self._streams, None if last is None else last.silent_seconds)
        plans = {} if last is None else last.streams
        self._until = {name: plan.carrier_until for name, plan in plans.items() if plan.carrier_until is not None}
        self._since: dict[str, int | None] = {}
        self._first_event: dict[str, int] = {}
        self._longest_to_drain: int | None = None
        self._shown_before_draining = 0
        self._unread: set[str] = set()
        self._untold: set[str] = set()
        """Streams that had rows of unknown event times. What was shed of these rows leaves no trace."""
        self._begun_at_seconds: float | None = None
        self._now_seconds: float | None = None

    def observe(
        self,
        report: MicroBatchReport,
        offered: Mapping[str, EventBounds] | None = None,
        *,
        was_draining: bool = False,
    ) -> None:
        """Take in the events of a finished micro-batch.

        Args:
            report: What was read, and the event times of what was kept of it; these may be the carriers', so of a
                micro-batch that was planned while draining only `offered` counts.
            offered: Event times of all rows that were read, shed ones included, of the streams that tell.
            was_draining: Whether it was planned while draining, in this run or an earlier one.
        """
        bounds = offered or {}
        earliest = {name: bound.first for name, bound in bounds.items()}
        latest = {name: bound.last for name, bound in bounds.items()}
        first = {n: t for n, t in report.earliest_event.items() if n in report.readable and not self._has_shown(n, t)}
        self._first_event = {**first, **earliest, **self._first_event}
        reported_latest = {} if was_draining else report.latest_event
        reported_latest = {name: instant for name, instant in reported_latest.items() if name in report.readable}
        for name, instant in {**reported_latest, **latest}.items():
            self.latest_event[name] = max(instant, self.latest_event.get(name, instant))
        if self._now_seconds is not None:
            self._silence.looked(self._streams, self._now_seconds)
        self._untold |= {name for name, rows in report.offered_rows.items() if rows > 0 and name not in bounds}
        for name, rows in report.offered_rows.items():
            if rows > 0 and (name in report.readable or name in bounds):
                self._unread.discard(name)
                if self._now_seconds is not None:
                    self._silence.heard(name, self._now_seconds + report.processing_seconds)
            elif rows > 0:
                self._unread.add(name)

    def resume(self, read: Mapping[str, StreamRows]) -> None:
        """Take in the rows of the last micro-batch before a restart, whose report nobody has got.

        Args:
            read: What it brought, of the streams that tell.
        """
        bounds = {name: rows.events for name, rows in read.items() if rows.events is not None}
        for name, events in bounds.items():
            self.latest_event[name] = max(events.last, self.latest_event.get(name, events.last))
            self._first_event.setdefault(name, events.first)

    def begin(self, now_seconds: float) -> None:
        """Note that a micro-batch begins; that is all about one that was planned before a restart.

        Args:
            now_seconds: When, on a clock that never goes back.
        """
        self._now_seconds = now_seconds
        if self._begun_at_seconds is None:
            self._begun_at_seconds = now_seconds
        self._silence.begin(now_seconds)

    def advance(self, now_seconds: float, rows: Mapping[str, int] | None = None) -> None:
        """Move to a new micro-batch.

        Args:
            now_seconds: When, on a clock that never goes back.
            rows: How many rows it has, of the streams of which that is known; if none of those before could be read,
                they are no sign of life.
        """
        self.begin(now_seconds)
        coming = rows or {}
        self._silence.looked(coming, now_seconds)
        for name in coming:
            if coming[name] > 0 and name not in self._unread:
                self._silence.heard(name, now_seconds)
        common = self._common_time()
        self._since = {name: self._until.get(name) for name in self._streams}
        for name in self._streams:
            latest = common if self._is_idle(name) else self.latest_event.get(name)
            instants = [instant for instant in (latest, self._until.get(name)) if instant is not None]
            if instants:
                self._until[name] = max(instants)

    def interval(self, stream: str) -> dict[str, int | None]:
        """Return carrier_from, carrier_until and carrier_time of a stream in this micro-batch."""
        until = self._until.get(stream)
        since = self._since.get(stream)
        if since is None:
            since = self._first_event.get(stream, until)
        undrained_time = self._since_the_epoch(stream) if until is None else until
        time = undrained_time if self.drained_at is None else self.drained_at + self._delay
        return {"carrier_from": since, "carrier_until": until, "carrier_time": time}

    def interval_of(self, stream: Stream) -> dict[str, int | None]:
        """Return the interval of a stream's carrier. That of a joined stream reaches as far as the later side."""
        if stream.joined is None:
            return self.interval(stream.name)
        sides = [self.interval(side.stream.name) for side in (stream.joined.left, stream.joined.right)]
        by_bound = {name: [instant for side in sides if (instant := side[name]) is not None] for name in sides[0]}
        return {name: max(of_sides, default=None) for name, of_sides in by_bound.items()}

    def latest(self, wall_clock_seconds: float) -> int | None:
        """Return the latest event time that a row may have by now; None: there is no bound.

        Numbers may, and event times where the wall clock is behind those that have come.

        Args:
            wall_clock_seconds: Seconds since the epoch.
        """
        now = round(wall_clock_seconds * 1e6)
        latest = max([now, *self.latest_event.values()])
        return None if self._is_numbered or latest > now + CLOCK_TOLERANCE else latest + CLOCK_TOLERANCE

    @property
    def silent_seconds(self) -> Mapping[str, float]:
        """How long each stream has been silent."""
        return self._silence.by_stream()

    def drain(
        self,
        longest_window: int,
        last_dropped: int | None = None,
        coming: Mapping[str, StreamRows] = MappingProxyType({}),
    ) -> None:
        """Let all carriers show a time past the end of every window, also of windows that later rows open.

        They do so from the micro-batch on that `advance` moved to last. Rows of dropped windows leave no trace. Where
        the latest of their event times is unknown, carriers go on up to the last dropped window, whose gap is reported.

        Args:
            longest_window: Microseconds.
            last_dropped: When the last dropped window starts; None: none is dropped.
            coming: What this micro-batch brings, of the streams that tell.
        """
        streams_with_event_times = {name for name, rows in coming.items() if rows.tells_events}
        self._longest_to_drain = longest_window
        for name, until in self._until.items():
            if last_dropped is not None and (name in self._untold or name not in streams_with_event_times):
                self._until[name] = max(until, last_dropped)
        self._shown_before_draining = max(self._until.values(), default=0)

    @property
    def drained_at(self) -> int | None:
        """The watermark at which every window is closed, microseconds; None: nobody asked to drain."""
        if self._longest_to_drain is None:
            return None
        latest = max([*self.latest_event.values(), self._shown_before_draining])
        after = latest + 2 * self._longest_to_drain + _SECOND
        return -(-after // _MILLISECOND) * _MILLISECOND

    @property
    def _delay(self) -> int:
        return max(stream.watermark_microseconds for stream in self._streams.values())

    def _has_shown(self, stream: str, instant: int) -> bool:
        """Whether a time may be what a carrier showed before the first event."""
        shown = self._since_the_epoch(stream)
        return shown is not None and instant <= shown

    def _since_the_epoch(self, stream: str) -> int | None:
        """The time of a stream of which nothing could be read for so long that it counts as silent."""
        if self._is_numbered or self._begun_at_seconds is None or self._now_seconds is None:
            return None
        if stream not in self._unread or not self._is_idle(stream):
            return None
        return round((self._now_seconds - self._begun_at_seconds) * 1e6)

    def _is_idle(self, stream: str) -> bool:
        after = self._streams[stream].idle_after_microseconds or DEFAULT_IDLE_MICROSECONDS
        return self._silence.seconds(stream) * 1e6 >= after

    def _common_time(self) -> int | None:
        """Where the streams with rows are; if none has any, the latest event plus the time since, if it is time."""
        active = [self.latest_event[n] for n in self.latest_event if n in self._streams and not self._is_idle(n)]
        if active:
            return max(active)
        if not self.latest_event:
            return None
        if self._is_numbered:
            return max(self.latest_event.values())
        return max(self.latest_event.values()) + round(min(self._silence.by_stream().values()) * 1e6)


def _at_least(last: PlanRow, watermark: int, streams: Mapping[str, Stream]) -> dict[str, int]:
    """The latest events that a plan knows, raised to what the watermark says, unless the stream was being drained.

    Of a stream that the plan knows no event of, it says so only where its carrier had no time either: the first rows
    came with that micro-batch then, for without them there would be no watermark.
    """
    if watermark <= 0 or last.drained_at is not None:
        return dict(last.latest_event)
    begun = {name for name in streams if name in last.streams and last.streams[name].carrier_time is None}
    reached = {
        name: watermark + stream.watermark_microseconds
        for name, stream in streams.items()
        if name in last.latest_event or name in begun
    }
    return dict(last.latest_event) | {name: max(at, last.latest_event.get(name, at)) for name, at in reached.items()}


def with_sure_signs(report: MicroBatchReport, plan: PlanRow | None) -> MicroBatchReport:
    """Add to the streams of which rows could be read those that show an event time which is nobody else's.

    A row that cannot be read shows the epoch, and a carrier what its plan says.
    """
    carrier_times = {} if plan is None else {name: stream.carrier_time for name, stream in plan.streams.items()}
    readable = set(report.readable)
    for name in report.latest_event:
        others = {0, (carrier_times.get(name) or 0) // _MILLISECOND * _MILLISECOND}
        if (
            report.offered_rows.get(name)
            and not {report.latest_event[name], report.earliest_event.get(name, 0)} <= others
        ):
            readable.add(name)
    return replace(report, readable=readable)
