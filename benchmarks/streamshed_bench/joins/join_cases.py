"""What benchmark `joins` runs: the experiments of [G05] §6 at a budget of comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat

from streamshed.joins.choose.selection import Prices
from streamshed.joins.model.conditions import Condition, Equality, Overlap
from streamshed.joins.model.join_windows import JoinWindows
from streamshed.joins.model.specification import JoinSpecification
from streamshed_bench.joins.join_runs import SECOND, JoinRun, MicroBatch, run_join
from streamshed_bench.joins.join_streams import PAPERS_COURSE, Course, SetStreams

CAPACITY = 200
"""Rows per second and side that the budget joins fully, windows on both sides full."""
TIGHT_CAPACITY = 100
"""So that the rates before and after the peak just fit: the deepest overload in which these shed nothing."""
SKEW = 0.8
PEAK, AFTER = slice(60, 75), slice(75, 105)
"""Seconds of the course with 500 and with 300 rows per second."""
SHIFTED = (25.0,)
"""τ = 5/8 of the cycle: partners come 15 s apart, the right row first."""
TWO_SIDED = (5.0, -12.0)
"""Half of the partners come 5 s apart, the left row first, half 12 s apart, the right row first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinCase:
    """One run.

    Args:
        policy: The shedding policy.
        skew: κ.
        shifts: τ, seconds.
        window_seconds: Of the left window.
        is_one_sided: Whether only the left stream has a window.
        threshold: θ; 0: equality of single values out of 5,000, κ = 1.
        basic_seconds: b.
        capacity: Rows per second and side that the budget joins fully, with windows of 20 s.
        cycle_seconds: ρ.
        read_price: What reading a basic window costs, in comparisons.
        course: Rows per second over time.
    """

    policy: str
    skew: float = SKEW
    shifts: tuple[float, ...] = SHIFTED
    window_seconds: int = 20
    is_one_sided: bool = False
    threshold: int = 3
    basic_seconds: float = 1.0
    capacity: int = CAPACITY
    cycle_seconds: float = 40.0
    read_price: float = 0.0
    course: Course = PAPERS_COURSE

    @property
    def budget(self) -> float:
        """Comparisons in a second."""
        return float(self.capacity**2 * 20 * (1 if self.is_one_sided else 2))

    @property
    def specification(self) -> JoinSpecification:
        """The join."""
        window = self.window_seconds * SECOND
        windows = JoinWindows(window, 0 if self.is_one_sided else window, round(self.basic_seconds * SECOND))
        condition: Condition = Overlap("s", "s", self.threshold) if self.threshold else Equality(("k",), ("k",))
        return JoinSpecification(windows=windows, condition=condition, left_time="t", right_time="t")

    def streams(self, seed: int) -> SetStreams:
        """Return its streams."""
        if self.threshold:
            return SetStreams(skew=self.skew, cycle_seconds=self.cycle_seconds, shift_seconds=self.shifts, seed=seed)
        return SetStreams(
            skew=1.0,
            items=5000,
            mean_size=1,
            cycle_seconds=self.cycle_seconds,
            shift_seconds=self.shifts,
            seed=seed,
        )

    def micro_batches(self, seed: int) -> Iterator[MicroBatch]:
        """Yield its rows, second by second."""
        for second, (left, right) in enumerate(self.streams(seed).micro_batches(self.course)):
            yield MicroBatch(left, right, second * SECOND)

    def run(self, seed: int, *, chooses_size: bool = False) -> JoinRun:
        """Run it.

        Args:
            seed: Of the streams.
            chooses_size: Whether the join may choose larger basic windows than it begins with.
        """
        return run_join(
            self.specification,
            self.micro_batches(seed),
            self.policy,
            budgets=repeat(self.budget),
            prices=Prices(read=self.read_price),
            chooses_size=chooses_size,
        )


ONE_SIDED = JoinCase(policy="rate_adaptation", shifts=(0.0,), is_one_sided=True)
"""Figure 4: streams that are aligned, a window on the left side only."""
