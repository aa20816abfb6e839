"""Which rows of a join's sides windows over its results are made of.

A result has the later time of its two rows. So of a side whose rows wait for w, a window over results at T, of size ω,
needs the rows stamped in [T − w, T + ω): those that a window of size ω + w, at T − w, would need that stood in its
place over the side itself. Where the side is answers of windows, that is one more of nested aggregates, and so are
windows over answers of windows over results. Windows before a join are [T06] §6; there, they have no lengths of time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from streamshed.network.model.answer_side import side_windows
from streamshed.network.model.stream import Stream
from streamshed.network.terms.window import WindowSpecification
from streamshed.planning.window_drop.track.retention import in_all, unneeded_times
from streamshed.planning.window_drop.windows.provenance import NeededRows, extent


@dataclass(frozen=True, slots=True)
class SideReach:
    """What windows over a join's results need of the stream of one side.

    Attributes:
        windows: Those of the aggregates before the join, then, each begun w earlier, those over its results, the first
            of these longer by w.
        ahead: w, microseconds.
    """

    windows: tuple[WindowSpecification, ...]
    ahead: int

    def unneeded(self, window: WindowSpecification, dropped: Collection[int]) -> list[NeededRows]:
        """Return the event times of the side's stream whose rows belong to dropped windows only.

        Args:
            window: The query's, the last over results.
            dropped: Numbers of its dropped windows; all others may be kept.

        Example:
            Calls are counted every 10 s, and wait for 10. The window of results at 30 needs the counts stamped in
            [20, 40), the one at 50 those in [40, 60): if that at 40 alone is dropped, no row is spared.

            >>> tens = WindowSpecification(10, 10)
            >>> reach = SideReach((tens, WindowSpecification(20, 10, -10)), 10)
            >>> reach.unneeded(tens, [4]), reach.unneeded(tens, [4, 5])
            ([], [NeededRows(start=40, end=50)])
        """
        outermost = self.windows[-1]
        begins = window.offset_microseconds - self.ahead - outermost.offset_microseconds
        shift = begins // outermost.slide_microseconds
        return unneeded_times(self.windows, [number + shift for number in dropped])

    @property
    def size(self) -> int:
        """How much time of the side's stream one window needs, microseconds; of nested ones at most."""
        deviation = extent(self.windows)
        return self.windows[-1].size_microseconds + deviation.beyond - deviation.lead


def side_reaches(stream: Stream, windows: Sequence[WindowSpecification]) -> tuple[SideReach, ...]:
    """Return what windows over a stream need of the sides that it is joined of: left, right; none, if it is no join.

    Args:
        stream: The stream.
        windows: Those of the aggregates over it, the one next to it first, the one asked for last.

    Example:
        >>> from streamshed.network.source.sources import rate
        >>> from streamshed.network.model.declared_stream import stream
        >>> calls, alerts = (stream(name, rate(10), time="timestamp") for name in ("calls", "alerts"))
        >>> busy = calls.window("1 minute").by("value").agg(n="count(*)")
        >>> pairs = busy.join(alerts, on="value", within=("90 s", "0 s"))
        >>> [list(map(str, one.windows)) for one in side_reaches(pairs.stream, [WindowSpecification(10**7, 10**7)])]
        [['1 minute', '1 minute 40 seconds every 10 seconds'], ['10 seconds']]
    """
    join = stream.joined
    if join is None:
        return ()
    sides = ((join.left, join.left_microseconds), (join.right, join.right_microseconds))
    return tuple(SideReach((*side_windows(side), *_begun_earlier(windows, wait)), wait) for side, wait in sides)


def unneeded_of_sides(
    sides: Sequence[SideReach], window: WindowSpecification, dropped: Collection[int]
) -> list[NeededRows]:
    """Return the event times that are needed of no side: what is spared whatever the rows of a join are.

    Args:
        sides: Of the join.
        window: As in `SideReach.unneeded`.
        dropped: As there.
    """
    return in_all([side.unneeded(window, dropped) for side in sides])


def _begun_earlier(windows: Sequence[WindowSpecification], wait: int) -> tuple[WindowSpecification, ...]:
    earlier = [replace(one, offset_microseconds=one.offset_microseconds - wait) for one in windows]
    earlier[0] = replace(earlier[0], size_microseconds=earlier[0].size_microseconds + wait)
    return tuple(earlier)
