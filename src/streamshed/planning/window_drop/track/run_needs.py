"""Which share of the rows is needed where queries keep their windows in common runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamshed.planning.window_drop.track.droppable import DroppableQuery
from streamshed.planning.window_drop.windows.kept_runs import EVERYTHING, Runner, common_offset

_HALVINGS = 40


@dataclass(frozen=True, slots=True)
class RunNeeds:
    """What common runs need, and between which rows are spared.

    Of a cycle T nothing is kept for X, and a run of r·T + o pays for it, o what its last windows reach beyond the
    beginning of the next ones. So T = (X + o)/p, and the share 1 − p·X/(X + o) of the rows is needed: less, the longer
    the gap, X = min(G, E·max(1, p/r)), and the more, the fewer windows are kept in runs that cannot be further apart.

    Attributes:
        epoch: E, microseconds.
        longest_gap: G, the shortest of the queries'.
        overlap: o, the longest of theirs, and of how much later than a run their first windows begin.

    Example:
        Of windows of 10 minutes every 5, a quarter; the gap may be 30 minutes, or 10.

        >>> round(RunNeeds(epoch=10, longest_gap=30, overlap=5).needed(0.25), 4)
        0.3571
        >>> round(RunNeeds(epoch=10, longest_gap=10, overlap=5).needed(0.25), 4)
        0.5
    """

    epoch: int
    longest_gap: int
    overlap: int

    @classmethod
    def of(cls, queries: Sequence[DroppableQuery]) -> RunNeeds | None:
        """Return what the queries of a stream need; None: they have no common runs, or no rows are spared by them."""
        if not queries or len({one.work for one in queries}) > 1 or any(one.is_by_group for one in queries):
            return None
        runners = [_runner(one) for one in queries]
        if not all(one.spares_rows for one in runners):
            return None
        begins = common_offset(runners)
        return cls(
            epoch=queries[0].epoch,
            longest_gap=min(one.longest_gap_at(begins) for one in runners),
            overlap=max(one.overlap + one.lead(begins) for one in runners),
        )

    def needed(self, kept_share: float) -> float:
        """Return the share of the rows that is needed.

        Args:
            kept_share: r, of each query, in (0, 1].
        """
        dropped = 1 - kept_share
        gap = min(self.longest_gap, self.epoch * max(1.0, dropped / kept_share))
        return 1 - dropped * gap / (gap + self.overlap)

    def most_kept(self, needed_share: float, least: float) -> float:
        """Return the largest share of windows that can be kept from a share of the rows.

        Args:
            needed_share: Of the rows.
            least: The share of its windows that each query keeps in any case.
        """
        low, high = least, 1.0
        if self.needed(low) >= needed_share:
            return low
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.needed(middle) <= needed_share else (low, middle)
        return low


def have_one_share(shares: Sequence[float]) -> bool:
    """Tell whether queries keep the same share of their windows: others would have to end their runs apart."""
    return len({round(share, 6) for share in shares}) == 1


def _runner(query: DroppableQuery) -> Runner:
    return Runner(
        kept_share=1.0,
        slide=query.window.slide_microseconds,
        reach=query.reach.size_microseconds,
        gap_windows=query.gap_windows,
        run=EVERYTHING,
        offset=query.window.offset_microseconds,
    )
