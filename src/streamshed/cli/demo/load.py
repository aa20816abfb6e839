"""How much load the demo puts on, and for how long: by what the machine sustains and the time left."""

import math
from dataclasses import dataclass

from streamshed.cli.demo.capacity import Capacity
from streamshed.cli.terminal.failure import RunFailedError
from streamshed.traces.load_profile import LoadProfile, parse_load_profile

CALM_SHARE = 0.35
BURST_FACTOR = 5
_AFTERMATH_SECONDS = 10
_SHORTEST_PHASE_SECONDS, _LONGEST_PHASE_SECONDS = 15, 40
_SECONDS_BESIDE = 22.0
_COMPARISON_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoLoad:
    """Calm, burst, calm again.

    Args:
        trigger_seconds: How often a micro-batch starts.
        rows_per_second: At 1×.
        phase_seconds: How long the first calm and the burst last, whole trigger intervals, so that no micro-batch
            takes rows of both; the calm afterwards lasts 10 s longer, so that whole windows lie behind the burst.
    """

    trigger_seconds: int
    rows_per_second: float
    phase_seconds: int

    @property
    def burst_seconds(self) -> tuple[int, int]:
        """When the burst begins and ends, in seconds since the start of the feed."""
        return self.phase_seconds, 2 * self.phase_seconds

    @property
    def duration_seconds(self) -> int:
        """How long all of it lasts."""
        return 3 * self.phase_seconds + _AFTERMATH_SECONDS

    @property
    def profile(self) -> LoadProfile:
        """The load over time."""
        phase, last = self.phase_seconds, self.phase_seconds + _AFTERMATH_SECONDS
        return parse_load_profile(f"1x:{phase}s,{BURST_FACTOR}x:{phase}s,1x:{last}s")

    @property
    def rows(self) -> int:
        """Rows that will be fed."""
        return rows_of(self.rows_per_second, self.phase_seconds)

    def factor_at(self, seconds: float) -> int:
        """The load factor at a time, in seconds since the start of the feed."""
        begin, end = self.burst_seconds
        return BURST_FACTOR if begin <= seconds < end else 1


def rows_of(rows_per_second: float, phase_seconds: int) -> int:
    """Count the rows of a demo."""
    return round(rows_per_second * ((2 + BURST_FACTOR) * phase_seconds + _AFTERMATH_SECONDS))


def comparison_seconds(load: DemoLoad, capacity: Capacity) -> float:
    """Estimate how long plain Spark takes over all rows."""
    return load.rows * _COMPARISON_SHARE * capacity.seconds_per_row


def load_for(
    capacity: Capacity, *, seconds_left: float, staging_seconds_per_row: float, grace_seconds: float = math.inf
) -> DemoLoad:
    """Choose a load that is comfortable at 1× and clear overload at 5×, and ends in time.

    Args:
        capacity: What the machine sustains.
        seconds_left: Until the demo should be over.
        staging_seconds_per_row: What writing a row beforehand takes.
        grace_seconds: How much longer the shortest load may take.

    Returns:
        The longest phases for which feeding, staging and the comparison fit; else the shortest.

    Raises:
        RunFailedError: Not even the shortest fits.

    Example:
        >>> capacity = Capacity(
        ...     trigger_seconds=2, rows_per_second=200_000, fixed_seconds=0.4, seconds_per_row=4e-6
        ... )
        >>> load = load_for(capacity, seconds_left=150, staging_seconds_per_row=1e-6)
        >>> load.rows_per_second, load.phase_seconds, load.rows
        (70000.0, 24, 12460000)
    """

    def load(phase_seconds: int) -> DemoLoad:
        return DemoLoad(
            trigger_seconds=capacity.trigger_seconds,
            rows_per_second=CALM_SHARE * capacity.rows_per_second,
            phase_seconds=phase_seconds,
        )

    def seconds_of(candidate: DemoLoad) -> float:
        staging = candidate.rows * staging_seconds_per_row
        return candidate.duration_seconds + _SECONDS_BESIDE + staging + comparison_seconds(candidate, capacity)

    trigger = capacity.trigger_seconds
    shortest, longest = -(-_SHORTEST_PHASE_SECONDS // trigger), max(_LONGEST_PHASE_SECONDS // trigger, 1)
    phases = (intervals * trigger for intervals in range(longest, shortest, -1))
    chosen = load(next((phase for phase in phases if seconds_of(load(phase)) <= seconds_left), shortest * trigger))
    if seconds_of(chosen) > seconds_left + grace_seconds:
        raise RunFailedError(
            f"the shortest load would take {seconds_of(chosen):.0f} s, and {max(seconds_left + grace_seconds, 0):.0f} s"
            " are left: this machine is too slow, or too busy, for the demo (are other programs running?)"
        )
    return chosen
