"""Step 1: how many rows come, and what they cost."""

from dataclasses import dataclass

from streamshed.control.decision import Upcoming
from streamshed.control.settings import ControlSettings
from streamshed.control.state import ControlState
from streamshed.network.model.network import QueryNetwork
from streamshed.planning.plan.coming_work import LEAST_SHARE
from streamshed.planning.window_drop.track.stale import Interval, fresh_share, of_streams, stale_times
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.task_costs import scattered_factors


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be decided: a micro-batch of a network, and all that is known before it.

    Attributes:
        network: The network.
        settings: How it is run.
        state: What the loop remembers.
        upcoming: The micro-batch.
        decided_at_seconds: When that is decided, on the loop's clock.
    """

    network: QueryNetwork
    settings: ControlSettings
    state: ControlState
    upcoming: Upcoming
    decided_at_seconds: float

    @property
    def elapsed_seconds(self) -> float:
        """Seconds since the micro-batch before took its rows."""
        if self.state.last_cut_seconds is None:
            return self.settings.trigger_interval_seconds
        return max(0.0, self.upcoming.now_seconds - self.state.last_cut_seconds)

    @property
    def interval_seconds(self) -> float | None:
        """How long the rows took to come, at least a trigger interval.

        None in the first micro-batch, which may bring all that has waited while nothing ran.
        """
        if self.state.last_cut_seconds is None:
            return None
        return max(self.elapsed_seconds, self.settings.trigger_interval_seconds)

    @property
    def stale(self) -> dict[int, tuple[Interval, ...]]:
        """Which rows are too old to be read; in advisory mode none are that were not before."""
        if self.upcoming.windows is None:
            return {}
        max_age = None if self.settings.advisory else self.settings.max_age_microseconds
        return stale_times(self.network, max_age, self.upcoming.windows)

    @property
    def is_warm(self) -> bool:
        """Whether the last micro-batch tells what such ones take: the first of a run does not."""
        last = self.state.last_outcome
        return last is None or not last.is_cold

    @property
    def waited_seconds(self) -> float:
        """How long the oldest row has waited by fault of the load.

        How long the first of a run takes is no load's fault: the rows that came meanwhile are not given up for it.
        """
        elapsed_seconds = self.elapsed_seconds
        return elapsed_seconds if self.is_warm else min(elapsed_seconds, self.settings.trigger_interval_seconds)


def estimated(request: Request) -> Statistics:
    """Return the rows that come, as far as their number is known, else as many as came; and what they cost."""
    state, upcoming = request.state, request.upcoming
    offered_rows = {
        stream.name: state.arrivals.expected_rows(stream.name, request.elapsed_seconds)
        for stream in request.network.streams
    }
    known_rows = upcoming.offered_rows.items()
    offered_rows |= {stream: rows for stream, rows in known_rows if rows or upcoming.sizes_known}
    return Statistics(
        offered_rows=offered_rows,
        load_model=state.load_model,
        correction=state.regulator.correction,
        speedup=upcoming.speedup,
        work_per_row=upcoming.work_per_row,
        fresh_shares=_fresh_shares(request),
        scattered_factors=scattered_factors(state.learned.task_seconds),
    )


def _fresh_shares(request: Request) -> dict[str, float]:
    """By stream of which rows are too old, about which share of them is not."""
    times = {} if request.upcoming.windows is None else request.upcoming.windows.event_times
    shares = {
        stream: fresh_share(times[stream], intervals)
        for stream, intervals in of_streams(request.network, request.stale).items()
        if stream in times
    }
    return {stream: max(LEAST_SHARE, share) for stream, share in shares.items() if share < 1}
