"""The carriers' clock: how far each stream's event time is known to have come, silent streams included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from streamshed.network.stream import Stream
from streamshed.spark.plan_row import PlanRow
from streamshed.spark.progress import MicroBatchReport
from streamshed.spark.upcoming_rows import EventBounds

DEFAULT_IDLE_MICROSECONDS = 60_000_000
_SECOND = 1_000_000
_MILLISECOND = 1_000
"""Spark's watermarks are whole milliseconds."""


class CarrierClock:
    """Keeps the event time that each stream's carrier may show.

    A stream that has rows is at its latest event. One that has had none for its idle time is taken to be where the
    others are, and if all are silent, to move on as the wall clock does.

    Args:
        streams: The streams of the time domain.
        last: The last plan before a restart.
    """

    def __init__(self, streams: Sequence[Stream], last: PlanRow | None = None) -> None:
        self._streams = {stream.name: stream for stream in streams}
        self.latest_event: dict[str, int] = {} if last is None else dict(last.latest_event)
        self.active_at_seconds: dict[str, float] = {} if last is None else dict(last.active_at_seconds)
        plans = {} if last is None else last.streams
        self._until = {name: plan.carrier_until for name, plan in plans.items() if plan.carrier_until is not None}
        self._since: dict[str, int | None] = {}
        self._first_event: dict[str, int] = {}
        self._longest_to_drain: int | None = None

    def observe(self, report: MicroBatchReport, offered: Mapping[str, EventBounds] | None = None) -> None:
        """Take in the events of a finished micro-batch.

        Args:
            report: What was read, and the event times of what was kept of it; these may be the carriers', so while
                draining only `offered` counts.
            offered: Event times of all rows that were read, shed ones included, of the streams that tell.
        """
        bounds = offered or {}
        earliest = {name: bound.first for name, bound in bounds.items()}
        latest = {name: bound.last for name, bound in bounds.items()}
        self._first_event = {**report.earliest_event, **earliest, **self._first_event}
        told = report.latest_event if self._longest_to_drain is None else {}
        for name, instant in {**told, **latest}.items():
            self.latest_event[name] = max(instant, self.latest_event.get(name, instant))
            if report.offered_rows.get(name, 0) > 0:
                finished = report.started_at_seconds + report.processing_seconds
                self.active_at_seconds[name] = max(finished, self.active_at_seconds.get(name, 0.0))

    def advance(self, now_seconds: float, active: AbstractSet[str] = frozenset()) -> None:
        """Move to a new micro-batch; `active` streams are known to have rows in it."""
        for name in self._streams:
            if name in active or name not in self.active_at_seconds:
                self.active_at_seconds[name] = max(now_seconds, self.active_at_seconds.get(name, 0.0))
        common = self._common_time(now_seconds)
        self._since = {name: self._until.get(name) for name in self._streams}
        for name in self._streams:
            own = common if self._is_idle(name, now_seconds) else self.latest_event.get(name)
            known = [instant for instant in (own, self._until.get(name)) if instant is not None]
            if known:
                self._until[name] = max(known)

    def interval(self, stream: str) -> dict[str, int | None]:
        """Return carrier_from, carrier_until and carrier_time of a stream in this micro-batch."""
        until = self._until.get(stream)
        since = self._since.get(stream)
        if since is None:
            since = self._first_event.get(stream, until)
        time = until if self.drained_at is None else self.drained_at + self._delay
        return {"carrier_from": since, "carrier_until": until, "carrier_time": time}

    def latest(self, now_seconds: float) -> int:
        """Return the latest event time that any row may have by now."""
        return max([round(now_seconds * 1e6), *self.latest_event.values()])

    def drain(self, longest_window: int) -> None:
        """Let all carriers show a time past the end of every window, of those, too, that rows still to come open."""
        self._longest_to_drain = longest_window

    @property
    def drained_at(self) -> int | None:
        """The watermark at which every window is closed, microseconds; None: nobody asked to drain."""
        if self._longest_to_drain is None:
            return None
        after = max(self.latest_event.values(), default=0) + 2 * self._longest_to_drain + _SECOND
        return -(-after // _MILLISECOND) * _MILLISECOND

    @property
    def _delay(self) -> int:
        return max(stream.watermark_microseconds for stream in self._streams.values())

    def _is_idle(self, stream: str, now_seconds: float) -> bool:
        after = self._streams[stream].idle_after_microseconds or DEFAULT_IDLE_MICROSECONDS
        return (now_seconds - self.active_at_seconds.get(stream, now_seconds)) * 1e6 >= after

    def _common_time(self, now_seconds: float) -> int | None:
        """Where the streams with rows are; if none has any, the latest event plus the time since."""
        active = [self.latest_event[n] for n in self.latest_event if not self._is_idle(n, now_seconds)]
        if active:
            return max(active)
        if not self.latest_event:
            return None
        silent_seconds = now_seconds - max(self.active_at_seconds.values(), default=now_seconds)
        return max(self.latest_event.values()) + round(max(silent_seconds, 0.0) * 1e6)
