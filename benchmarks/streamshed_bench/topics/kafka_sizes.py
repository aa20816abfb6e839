"""How much the benchmark `kafka` runs, in full and in short."""

from __future__ import annotations

from dataclasses import dataclass, replace

CALM_SHARE = 0.4
"""1x is so much of the rows per second that are read with nothing shed: who sends, and the broker, take cores, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSizes:
    """How much is read at once, and how long each load lasts.

    Args:
        rows: Rows of a micro-batch where nothing is shed.
        micro_batches: How many of those the topic has.
        skipped: How many of the first do not count.
        rounds: How often each contestant reads the topic.
        loads: Multiples of 1x, one after the other.
        trigger_seconds: The trigger interval.
        settling: Micro-batches at the beginning of each load that do not count.
        counted: Those that do.
        calm_seconds: How long 1x lasts before the loads, and before the kill.
        recovering_seconds: How long 1x goes on after a kill, and after an outage.
        outage_seconds: How long the broker is gone.
        event_speed: Seconds of event time per second of the clock.
        file_seconds: Seconds of the clock whose rows are sent at once.
        left_out: What the full benchmark measures beyond this.
    """

    rows: int
    micro_batches: int
    skipped: int
    rounds: int
    loads: tuple[int, ...]
    trigger_seconds: int
    settling: int
    counted: int
    calm_seconds: float
    recovering_seconds: float
    outage_seconds: float
    event_speed: int
    file_seconds: float
    left_out: tuple[str, ...] = ()

    @property
    def load_seconds(self) -> float:
        """How long each load lasts."""
        return float((self.settling + self.counted) * self.trigger_seconds)

    @property
    def settling_seconds(self) -> float:
        """How much of that does not count."""
        return float(self.settling * self.trigger_seconds)

    @property
    def fed_seconds(self) -> float:
        """How long rows are sent: warm-up, loads, calm, after the kill, and after the outage."""
        return self.load_seconds * len(self.loads) + 2 * (self.calm_seconds + self.recovering_seconds)


FULL = KafkaSizes(
    rows=100_000,
    micro_batches=20,
    skipped=6,
    rounds=3,
    loads=(1, 3, 10),
    trigger_seconds=2,
    settling=5,
    counted=25,
    calm_seconds=30.0,
    recovering_seconds=60.0,
    outage_seconds=60.0,
    event_speed=10,
    file_seconds=0.5,
)
QUICK = replace(
    FULL,
    rows=50_000,
    micro_batches=8,
    skipped=3,
    rounds=1,
    settling=2,
    counted=4,
    calm_seconds=8.0,
    recovering_seconds=25.0,
    outage_seconds=10.0,
    left_out=(
        "2 of 3 rounds, each with 12 micro-batches of 100,000 rows more",
        "21 of 25 micro-batches of each load: the 95th percentile is the largest",
        "50 of 60 seconds of the outage",
    ),
)
