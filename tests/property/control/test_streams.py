"""Two streams in one network, one of which may have to be kept whole."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.network.run.load_prior import LoadPrior
from streamshed.simulator.costs import RowCost, TrueCosts
from streamshed.simulator.engine import EngineSettings
from streamshed.simulator.profiles import burst, constant
from tests.oracles.simulation import simulate
from tests.property.control.worlds import INTERVAL, Trace, factors
from tests.thoroughness import examples
from tests.unit.planning.networks import counting

BUDGET_SECONDS = 0.8 * INTERVAL


@dataclass(frozen=True, kw_only=True)
class TwoStreams:
    """A steady stream beside one that bursts; shares are of the budget of 1.6 s."""

    steady_share: float
    calm_share: float
    burst_share: float
    cost_ratio: float
    wrong_by: float
    steady_is_exact: bool

    def run(self) -> Trace:
        cost = {"bursting": 1e-6, "steady": 1e-6 * self.cost_ratio}
        exact = ("steady",) if self.steady_is_exact else ()
        settings = ControlSettings(
            trigger_interval_seconds=INTERVAL, prior=LoadPrior(seconds_per_row=1e-6 * self.wrong_by)
        )
        per_second = BUDGET_SECONDS / INTERVAL
        return simulate(
            ControlLoop(counting("bursting", "steady", exact=exact), settings, lambda: 0.0),
            load={
                "steady": constant(self.steady_share * per_second / cost["steady"]),
                "bursting": burst(
                    start_seconds=20.0,
                    end_seconds=80.0,
                    low=self.calm_share * per_second / cost["bursting"],
                    high=self.burst_share * per_second / cost["bursting"],
                ),
            },
            costs=TrueCosts(
                fixed_seconds=0.2,
                rows={name: RowCost(read_seconds=0.08 * each, work_seconds=0.92 * each) for name, each in cost.items()},
            ),
            settings=EngineSettings(trigger_interval_seconds=INTERVAL),
            micro_batches=50,
        )


@examples(40)
@given(
    st.builds(
        TwoStreams,
        steady_share=st.floats(0.05, 0.35),
        calm_share=st.floats(0.05, 0.3),
        burst_share=st.floats(1.5, 4.0),
        cost_ratio=factors(3),
        wrong_by=factors(3),
        steady_is_exact=st.booleans(),
    )
)
def test_a_burst_of_one_stream_is_met_and_the_other_is_kept_whole_where_asked(streams: TwoStreams) -> None:
    trace = streams.run()
    overloaded = [done for done in trace if 20.0 < done.started_at_seconds <= 80.0]
    assert all(done.decision.shedding for done in overloaded)
    assert all(done.utilization <= 1 for done in overloaded[3:])
    assert all(done.utilization <= 0.8 * 1.02 for done in overloaded[7:])
    assert not any(done.decision.shedding or done.backlog_rows for done in trace[42:])
    if streams.steady_is_exact:
        assert all(done.decision.work_codes["steady"] == 0 for done in trace)
