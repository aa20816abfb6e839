"""What a micro-batch tells of the network besides how long it took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from streamshed.answering.estimate.carried_rows import CarriedSums
from streamshed.answering.estimate.value_ranges import RangeSums
from streamshed.statistics.task_report import TaskReport


@dataclass(frozen=True, slots=True)
class CallCost:
    """What calls of a user function took.

    Attributes:
        rows: Rows that it was given.
        seconds: How long it took for them, all tasks together.
    """

    rows: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: CallCost) -> CallCost:
        return CallCost(self.rows + other.rows, self.seconds + other.seconds)


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """How large the groups of some windows are.

    Attributes:
        by_size: How many groups had about 2^k rows, by k.
        windows: Starts of the windows, microseconds.
    """

    by_size: Mapping[int, int] = field(default_factory=dict)
    windows: frozenset[int] = frozenset()

    def __add__(self, other: GroupCounts) -> GroupCounts:
        sizes = {**self.by_size, **other.by_size}
        return GroupCounts(
            {k: self.by_size.get(k, 0) + other.by_size.get(k, 0) for k in sizes}, self.windows | other.windows
        )


@dataclass(frozen=True, slots=True)
class SpannedTime:
    """The time that some windows are over, which may overlap.

    Attributes:
        stream: Whose rows fall into them.
        window_seconds: How long they are, all together, without what lies before the first row of their stream.
        seconds: From the start of the first to the end of the last.
    """

    stream: str
    window_seconds: float
    seconds: float


_NOTHING_CARRIED, _NO_RANGES = CarriedSums(), RangeSums()


@dataclass(frozen=True, slots=True)
class WindowSums:
    """Sums over some windows of a value of a query, scaled where rows were sampled.

    Attributes:
        windows: Starts of the windows, microseconds.
        rows: Their rows.
        present: Those of them with a value, in windows and groups where all of these sums are finite.
        total: Sum of the values, there.
        squares: Sum of their squares.
        sizes: Sum of their absolute values; 0 where nobody asks for it.
        groups: Groups of windows of which every row was kept.
        sampled_groups: Those of the other windows, with the rows that they are estimated to have: groups that are
            smaller than what one row of a sample stands for are too few, and too large; all together have about as many
            rows as there were.
        carried: Which of the rows kept carry estimates.
        ranges: How far apart values are.
        span: The time that they are over; None: that is not known.
    """

    windows: frozenset[int] = frozenset()
    rows: float = 0.0
    present: float = 0.0
    total: float = 0.0
    squares: float = 0.0
    sizes: float = 0.0
    groups: GroupCounts = GroupCounts()
    sampled_groups: GroupCounts = GroupCounts()
    carried: CarriedSums = _NOTHING_CARRIED
    ranges: RangeSums = _NO_RANGES
    span: SpannedTime | None = None

    def __add__(self, other: WindowSums) -> WindowSums:
        return WindowSums(
            self.windows | other.windows,
            self.rows + other.rows,
            self.present + other.present,
            self.total + other.total,
            self.squares + other.squares,
            self.sizes + other.sizes,
            self.groups + other.groups,
            self.sampled_groups + other.sampled_groups,
            self.carried + other.carried,
            self.ranges + other.ranges,
        )


@dataclass(frozen=True, slots=True)
class Passed:
    """How many rows a node passed on.

    Attributes:
        rows: Rows.
        span: In windows over which time; None: these are the rows of the micro-batch.
    """

    rows: float
    span: SpannedTime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a micro-batch tells.

    Attributes:
        calls: By address of the operator (`Node.address`) that calls a user function.
        call_rates: The effective sampling rate before each of these.
        thinned: Streams of whose rows some belonged to dropped windows only: how many reach an operator tells nothing.
        windows: By query and aggregate, sums over the windows that it answered.
        passed: By address of the operator, what a few of its rows tell of it, or the rows that were answers themselves.
        state_seconds: What tasks took over groups in state, all together; None: not all rows were kept.
        parallel_tasks: How many tasks ran at a time.
        event_seconds: How far event time went on with the rows of the micro-batch before, which is what Spark knows
            when this one starts; None: that is not known.
        task_reports: What tasks tell of the streams that they read.
    """

    calls: Mapping[str, CallCost] = field(default_factory=dict)
    call_rates: Mapping[str, float] = field(default_factory=dict)
    thinned: frozenset[str] = frozenset()
    windows: Mapping[tuple[str, str], WindowSums] = field(default_factory=dict)
    passed: Mapping[str, Passed] = field(default_factory=dict)
    state_seconds: float | None = None
    parallel_tasks: int = 1
    event_seconds: float | None = None
    task_reports: Mapping[str, TaskReport] = field(default_factory=dict)


def summed(some: Iterable[Mapping[tuple[int, int], WindowSums]]) -> dict[tuple[int, int], WindowSums]:
    """Add sums of several tasks, value by value.

    >>> summed([{(7, 0): WindowSums(rows=2.0)}, {(7, 0): WindowSums(rows=3.0)}])[7, 0].rows
    5.0
    """
    total: dict[tuple[int, int], WindowSums] = {}
    for task_sums in some:
        for share, sums in task_sums.items():
            total[share] = total.get(share, WindowSums()) + sums
    return total
