"""How fast a course goes, and what the control loop is told of time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamshed.control.decision import Decision, Upcoming
from streamshed.control.elastic_loop import ElasticLoop
from streamshed.control.journal import JournalEntry
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.thresholds import Thresholds
from streamshed.elasticity.workers import WorkerLimits
from streamshed.network.run.load_prior import LoadPrior
from streamshed.statistics.measured import Measured
from streamshed.statistics.micro_batch import MicroBatchOutcome

FILES_PER_TRIGGER = 4
SECONDS_PER_ROW = 0.004
MOST_WORKERS = 2
WINDOW_SECONDS = 4


@dataclass(frozen=True, kw_only=True)
class Pace:
    """The pace of a course; all that takes time is in trigger intervals.

    Attributes:
        trigger_seconds: From one micro-batch to the next.
        is_measured: Whether the control loop is told how long micro-batches took, and files come by the clock. Else
            files come by the micro-batch, and it is told how long they would take on workers of a given speed: what
            overloads a real machine differs from one to the next, and from run to run.
    """

    trigger_seconds: int
    is_measured: bool

    @property
    def fixed_seconds(self) -> float:
        """What a micro-batch takes without rows, or is believed to take."""
        return self.trigger_seconds / 8

    @property
    def prior(self) -> LoadPrior:
        """What is known of costs beforehand."""
        return LoadPrior(fixed_seconds=self.fixed_seconds, seconds_per_row=SECONDS_PER_ROW, read_share=0.01)

    @property
    def elastic(self) -> ElasticSettings:
        """What is asked of elasticity."""
        return ElasticSettings(
            limits=WorkerLimits(least=1, most=MOST_WORKERS),
            thresholds=Thresholds(initial=0.6, shed=0.8),
            start_seconds=1.25 * self.trigger_seconds,
            rescale_price_seconds=0.5 * self.trigger_seconds,
            release_after_seconds=1.0 * self.trigger_seconds,
            # So short that a jump is never taken for a trend.
            look_ahead_seconds=2.0 * self.trigger_seconds,
        )

    @property
    def files_per_window(self) -> int:
        """How many files hold the rows of one window."""
        return WINDOW_SECONDS * FILES_PER_TRIGGER // self.trigger_seconds

    def rows_per_file(self, load: float) -> int:
        """Return how many rows a file holds of a load that is told in one worker's time."""
        return round(load * self.trigger_seconds / FILES_PER_TRIGGER / SECONDS_PER_ROW)


PACES = {
    "told": Pace(trigger_seconds=1, is_measured=False),
    "measured": Pace(trigger_seconds=8, is_measured=True),
}


def loop_at(pace: Pace) -> type[ElasticLoop]:
    """A control loop to which a micro-batch begins with each trigger, and takes as long as its workers would need."""

    class ToldLoop(ElasticLoop):
        def plan(self, upcoming: Upcoming) -> Decision:
            now_seconds = float(upcoming.micro_batch_id * pace.trigger_seconds)
            # What comes by the micro-batch is there before, and is none that a micro-batch could not take.
            return super().plan(replace(upcoming, now_seconds=now_seconds, backlog_rows=0))

        def record(self, outcome: MicroBatchOutcome, measured: Measured | None = None) -> JournalEntry:
            known = self.known_step(outcome.micro_batch_id)
            rows = sum(count * outcome.share_done(name) for name, count in outcome.offered_rows.items())
            told = replace(
                outcome,
                started_at_seconds=float(outcome.micro_batch_id * pace.trigger_seconds),
                processing_seconds=pace.fixed_seconds
                + SECONDS_PER_ROW * rows / (1.0 if known is None else known.speedup),
            )
            return super().record(told, measured)

    return ToldLoop
