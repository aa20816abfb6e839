"""How many rows a micro-batch takes at most of what waits, where its source can be told."""

from collections.abc import Mapping
from dataclasses import dataclass

from streamshed.control.state import ControlState

FIRST_ROWS = 10_000
"""So many rows the first micro-batch of a run takes at most: whatever they cost, that ends soon."""

FIRST_BYTES = 1 << 22
"""So many bytes of a folder's files it takes at most, and one file at least."""

LARGEST_STEP = 4.0
"""A micro-batch takes at most so many times as many rows as the largest before it: costs may differ from what fewer
rows told of them."""

MOST_SHED = 8.0
"""What waits is taken up to so many times as fast as there is time for with nothing shed."""

CATCHING_UP = 2.0
"""A micro-batch may take at least so many times as many rows as arrive: under overload, too, what waits gets less."""


@dataclass(frozen=True, slots=True)
class StreamReading:
    """What a run has read of one stream.

    Args:
        most_rows: The most in a micro-batch.
        arriving_rows_per_second: How many came of late, whether they were read or not.
    """

    most_rows: int
    arriving_rows_per_second: float


def rows_to_read(
    state: ControlState, readings: Mapping[str, StreamReading], *, budget_seconds: float
) -> dict[str, int]:
    """Return how many rows of each stream the next micro-batch takes at most.

    With nothing shed there is time for n·(B − c0)/t(n), n rows of the last decision, t(n) the seconds that the load
    model has for them, c0 for what is fixed, B the budget. Of work that may be shed, or is skipped as too old, up to
    eight times as much is taken: so what waits after a burst or a pause is read in pieces that take a trigger interval
    each, and soon. Of what may not be shed, pieces are no larger than there is time for. Where more rows arrive than
    that, they are taken.

    Args:
        state: What was learned and decided.
        readings: By stream.
        budget_seconds: Of a micro-batch.

    Example:
        >>> from streamshed.control.settings import ControlSettings
        >>> state = ControlState.initial(["packets"], ControlSettings(trigger_interval_seconds=2.0))
        >>> rows_to_read(state, {"packets": StreamReading(0, 0.0)}, budget_seconds=1.6)
        {'packets': 10000}
        >>> rows_to_read(state, {"packets": StreamReading(50_000, 1e6)}, budget_seconds=1.6)
        {'packets': 200000}
    """
    return {name: _rows(state, name, reading, budget_seconds) for name, reading in readings.items()}


def _rows(state: ControlState, stream: str, reading: StreamReading, budget_seconds: float) -> int:
    arriving = CATCHING_UP * reading.arriving_rows_per_second * budget_seconds
    wanted = max(_rows_in_time(state, stream, budget_seconds), arriving, FIRST_ROWS)
    return round(min(wanted, max(LARGEST_STEP * reading.most_rows, FIRST_ROWS)))


def _rows_in_time(state: ControlState, stream: str, budget_seconds: float) -> float:
    """As many rows as there is time for, in the proportions of the last decision."""
    offered_rows: dict[str, float] = {} if not state.decisions else dict(state.decisions[-1].offered_rows)
    if not offered_rows.get(stream):
        offered_rows = {stream: 1.0}
    correction = state.regulator.correction
    fixed_seconds = state.load_model.seconds({}, {}) * correction
    row_seconds = state.load_model.seconds(offered_rows, {}) * correction - fixed_seconds
    # However dear a micro-batch is that has no rows, those that come get half of the time.
    seconds = max(budget_seconds - fixed_seconds, 0.5 * budget_seconds)
    return offered_rows[stream] * seconds / max(row_seconds, 1e-12) * _taken_at_once(state, fixed_seconds)


def _taken_at_once(state: ControlState, fixed_seconds: float) -> float:
    """How many times as much may be taken as there is time for: what is shed or skipped of it takes no time."""
    if not state.decisions:
        return 1.0
    plan = state.decisions[-1].plan
    whole_seconds = (plan.unshed_seconds - fixed_seconds) * _times_as_dear_unskipped(state)
    kept_seconds = max(plan.unsheddable_seconds - fixed_seconds, 0.0)
    return min(max(whole_seconds / max(kept_seconds, 1e-12), 1.0), MOST_SHED)


def _times_as_dear_unskipped(state: ControlState) -> float:
    """How many times as long the rows of the last decision would take if none were skipped as too old."""
    last = state.decisions[-1]
    fixed, whole, fresh = (
        state.load_model.seconds(rows, shares)
        for rows, shares in (({}, {}), (last.offered_rows, {}), (last.offered_rows, last.fresh_shares))
    )
    return (whole - fixed) / max(fresh - fixed, 1e-12) if last.fresh_shares else 1.0
