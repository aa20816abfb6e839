"""Whatever a micro-batch was like, the control loop learns from it and decides on the next: a run never ends by it."""

import math
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

import streamshed as ss
from streamshed.control.decision import Upcoming
from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.network.run.load_prior import LoadPrior
from streamshed.planning.tree.quantization import SMALLEST, sampling_rate_of
from streamshed.statistics.micro_batch import MicroBatchOutcome
from tests.thoroughness import examples

INTERVAL = 1.0
SMALLEST_RATE = sampling_rate_of(SMALLEST)
EVENTS = ss.stream(
    "events", ss.folder("in/events", "json", schema="ts timestamp, host string, bytes bigint"), time="ts"
)
ALERTS = ss.stream("alerts", ss.folder("in/alerts", "json", schema="ts timestamp, host string"), time="ts")
ALERTED = EVENTS.filter("bytes > 900").join(ALERTS, on="host", within="5 seconds", name="alerted")
NETWORK = ss.network(
    EVENTS.window("20 seconds").by("host").agg(n="count(*)").query("by_host"),
    EVENTS.window("20 seconds", every="5 seconds").agg(total="sum(bytes)").query("total", mode="subset", max_gap=6),
    ALERTS.window("20 seconds").agg(n="count(*)").query("alerts"),
    ALERTED.window("20 seconds").agg(n="count(*)").query("alerted"),
)
STREAMS = ("events", "alerts", "alerted")

shares = st.sampled_from([0.0, 5e-324, SMALLEST_RATE, 0.001, 0.5, 1.0]) | st.floats(0, 1)
rows = st.sampled_from([0, 1, 500, 10_000_000]) | st.integers(0, 1_000_000)
seconds = st.sampled_from([1e-6, 0.2, 1.0, 3600.0]) | st.floats(1e-3, 60)


@dataclass(frozen=True)
class Measured:
    """What came of one micro-batch."""

    rows: tuple[int, int, int]
    sampling_rate: float
    work_share: float
    read_share: float
    seconds: float
    work_per_row: float
    is_cold: bool


outcomes = st.builds(
    Measured,
    rows=st.tuples(rows, rows, rows),
    sampling_rate=shares.filter(lambda share: share >= SMALLEST_RATE),
    work_share=shares,
    read_share=shares.filter(lambda share: share >= SMALLEST_RATE),
    seconds=seconds,
    work_per_row=st.floats(0, 1e4),
    is_cold=st.booleans(),
)


@examples(60)
@given(st.lists(outcomes, min_size=10, max_size=40))
def test_the_loop_goes_on(measured: list[Measured]) -> None:
    settings = ControlSettings(
        trigger_interval_seconds=INTERVAL, prior=LoadPrior(fixed_seconds=0.3, seconds_per_row=1e-6)
    )
    loop = ControlLoop(NETWORK, settings, clock=lambda: 0.0)
    now = 0.0
    for micro_batch_id, done in enumerate(measured):
        offered = dict(zip(STREAMS, done.rows, strict=True))
        upcoming = Upcoming(
            micro_batch_id=micro_batch_id,
            offered_rows=offered,
            sizes_known=True,
            backlog_rows=0,
            now_seconds=now,
            blocks={"alerts": 100},
        )
        decision = loop.plan(upcoming)
        assert math.isfinite(decision.expected_seconds)
        assert all(0 <= share <= 1 for share in decision.work_shares.values())
        loop.record(
            MicroBatchOutcome(
                micro_batch_id=micro_batch_id,
                offered_rows=offered,
                admitted_rows={name: count * done.sampling_rate for name, count in offered.items()},
                sampling_rates=dict.fromkeys(offered, done.sampling_rate),
                work_shares={"events": done.work_share, "alerted": done.work_share},
                work_per_row={"alerted": done.work_per_row},
                read_shares={"alerts": done.read_share},
                processing_seconds=done.seconds,
                trigger_interval_seconds=INTERVAL,
                started_at_seconds=now,
                is_cold=done.is_cold,
            )
        )
        now += max(INTERVAL, done.seconds)
