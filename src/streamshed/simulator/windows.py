"""Windows in virtual time: event times are arrival times; the watermark is the latest of the last micro-batch."""

from __future__ import annotations

from collections.abc import Sequence

from streamshed.planning.window_drop.decisions import UpcomingWindows
from streamshed.planning.window_drop.open_windows import EventTimes
from streamshed.planning.window_drop.window_drops import NOTHING_DROPPED, WindowDrops


class VirtualWindows:
    """What is known of windows before each micro-batch.

    Args:
        streams: Names of all streams.
    """

    def __init__(self, streams: Sequence[str]) -> None:
        self._streams = tuple(streams)
        self._drops = NOTHING_DROPPED
        self._last_cut: int | None = None

    def upcoming(self, now_seconds: float) -> UpcomingWindows:
        """Return what is known before a micro-batch that takes what has arrived by now."""
        before = 0 if self._last_cut is None else self._last_cut
        times = EventTimes(
            opened=before,
            carried_since=None if self._last_cut is None else 0,
            first=before,
            last=max(before, round(now_seconds * 1e6) - 1),
        )
        return UpcomingWindows(event_times=dict.fromkeys(self._streams, times), drops=self._drops)

    def decided(self, drops: WindowDrops, now_seconds: float) -> None:
        """Take in what a micro-batch was told, which has taken what had arrived by now."""
        self._drops, self._last_cut = drops, round(now_seconds * 1e6)
