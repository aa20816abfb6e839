"""The joins of a network in virtual time: what they add to micro-batches, and to the reports on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from streamshed.simulator.virtual_join import JoinSeconds, VirtualJoin


@dataclass(frozen=True, slots=True)
class JoinedWork:
    """What the joins of a micro-batch take in full, and how the control loop counts it.

    Args:
        sheddable: By joined stream whose join may be done in part.
        whole: By stream of the others.
        work_per_row: By joined stream, how many units of work a row of the micro-batch is.
    """

    sheddable: Mapping[str, JoinSeconds]
    whole: Mapping[str, JoinSeconds]
    work_per_row: Mapping[str, float]

    def seconds(self, work_shares: Mapping[str, float]) -> float:
        """Return what the joins take on one worker, by the shares of work that are done on their streams."""
        in_part = sum(one.at(work_shares[stream]) for stream, one in self.sheddable.items())
        return in_part + sum(one.full for one in self.whole.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualJoins:
    """All joins.

    As on Spark, rows of a joined stream are counted in units of work, since what one takes grows with the load. A unit
    is what the control loop believes of a row before it has measured any.

    Args:
        joins: Each of another stream.
        row_seconds: By joined stream, what its rows take beside the join.
        unit_seconds: What a unit of work takes, above 0.
    """

    joins: tuple[VirtualJoin, ...] = ()
    row_seconds: Mapping[str, float] = field(default_factory=dict)
    unit_seconds: float = 1e-6

    def work(self, since_seconds: float, until_seconds: float, offered_rows: Mapping[str, int]) -> JoinedWork:
        """Return the work of a micro-batch that takes all that comes between two times.

        Args:
            since_seconds: When the one before took its rows.
            until_seconds: When it takes its own.
            offered_rows: How many rows that are, by stream.
        """
        full = {join.stream: join.seconds(since_seconds, until_seconds) for join in self.joins}
        sheddable = {join.stream for join in self.joins if join.is_sheddable}
        return JoinedWork(
            sheddable={stream: join_seconds for stream, join_seconds in full.items() if stream in sheddable},
            whole={stream: join_seconds for stream, join_seconds in full.items() if stream not in sheddable},
            work_per_row={
                stream: (self.row_seconds[stream] + join_seconds.full / rows) / self.unit_seconds
                for stream, join_seconds in full.items()
                if (rows := offered_rows[stream]) > 0
            },
        )

    def full_seconds(self, until_seconds: float, *, micro_batches: float) -> Iterator[JoinSeconds]:
        """Yield what each takes from time 0 on in full.

        Args:
            until_seconds: Until when.
            micro_batches: In how many micro-batches.
        """
        yield from (join.seconds(0.0, until_seconds, micro_batches=micro_batches) for join in self.joins)


NOTHING_JOINED = VirtualJoins()
"""No joins."""
