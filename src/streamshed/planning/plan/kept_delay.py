"""How late answers get while windows are kept that take more than there is time for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamshed.planning.window_drop.track.droppable import DroppableQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class WhileKept:
    """What micro-batches take while windows are kept.

    Attributes:
        micro_batch_seconds: What the rows of a trigger interval take, none of them in windows that are dropped.
        trigger_interval_seconds: T.
        speeds: By stream, how fast event time goes by.
    """

    micro_batch_seconds: float
    trigger_interval_seconds: float
    speeds: Mapping[str, float]

    def delay_seconds(self, query: DroppableQuery, kept_share: float) -> float | None:
        """Return how long after a row came its answers come at worst; None: none or all are kept, or some by group.

        Args:
            query: A query whose windows are dropped.
            kept_share: The share of them that it keeps.
        """
        if not 0 < kept_share < 1 or query.is_by_group:
            return None
        return delay_while_kept(
            kept_seconds(query, kept_share) / self.speeds[query.stream],
            micro_batch_seconds=self.micro_batch_seconds,
            trigger_interval_seconds=self.trigger_interval_seconds,
        )


def kept_seconds(query: DroppableQuery, kept_share: float) -> float:
    """Return for how long, in event time, a query keeps windows without a break.

    Between runs nothing is kept for X = min(G, E·max(1, p/r)), and with o what windows overlap by, (X + o)/p − X is
    what pays for it; see `kept_runs`. Where no rows are spared by that, X is an epoch.

    Args:
        query: The query.
        kept_share: r, in (0, 1).

    Example:
        A quarter of the windows of ten seconds: one, and then none for thirty seconds.

        >>> from streamshed.network.terms.window import WindowSpecification
        >>> ten = 10_000_000
        >>> tumbling = DroppableQuery(query="q", definition_id=1, stream="s", gap_windows=9, epoch=ten, weight=1.0,
        ...                           window=WindowSpecification(ten, ten))
        >>> kept_seconds(tumbling, 0.25), kept_seconds(tumbling, 0.75)
        (10.0, 30.0)
    """
    reach, slide = query.reach.size_microseconds, query.window.slide_microseconds
    longest, overlap, dropped = (query.gap_windows + 1) * slide - reach, reach - slide, 1 - kept_share
    gap = min(longest, query.epoch * max(1.0, dropped / kept_share)) if longest >= slide else query.epoch
    return round(max(float(reach), (gap + overlap) / dropped - gap)) / 1e6


def delay_while_kept(seconds_kept: float, *, micro_batch_seconds: float, trigger_interval_seconds: float) -> float:
    """Return how long after a row came its answers come at worst, where all rows of some time are kept.

    With ρ = `micro_batch_seconds` ÷ T above 1, a micro-batch that holds all that is kept, of R seconds, takes ρ·R.
    Rows that come meanwhile wait for it, and there may be as much to keep among them: 2·ρ·R at worst.

    Args:
        seconds_kept: R, on the wall clock.
        micro_batch_seconds: What the rows of a trigger interval take, none of them dropped.
        trigger_interval_seconds: T.

    Example:
        At five times what there is time for, in windows of ten seconds.

        >>> delay_while_kept(10.0, micro_batch_seconds=10.0, trigger_interval_seconds=2.0)
        100.0
        >>> delay_while_kept(10.0, micro_batch_seconds=1.5, trigger_interval_seconds=2.0)
        3.5
    """
    ratio = micro_batch_seconds / trigger_interval_seconds
    if ratio <= 1:
        return trigger_interval_seconds + micro_batch_seconds
    return 2 * max(trigger_interval_seconds, ratio * seconds_kept)
