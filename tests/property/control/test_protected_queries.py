"""A burst on a stream of whose work a part is for a query that is never shed."""

from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from streamshed.control.loop import ControlLoop
from streamshed.network.model.network import network
from streamshed.planning.plan.plan import Remedy
from streamshed.statistics.network_statistics import Moments, NetworkStatistics, QueryStatistics, StreamStatistics
from tests.property.control import promises
from tests.property.control.worlds import INTERVAL, STREAM, World, worlds
from tests.thoroughness import examples
from tests.unit.planning.networks import rows_of


@dataclass(frozen=True, kw_only=True)
class Shared:
    """A world, and which share of the work on its rows is for the query that is never shed."""

    world: World
    least_share: float

    def run(self) -> promises.Burst:
        windows = rows_of(STREAM).window("1 minute")
        asked = network(
            windows.agg(n="count(*)").query("sure", mode="exact"), windows.agg(total="sum(value)").query("rough")
        )
        known = NetworkStatistics(
            fixed_seconds=self.world.fixed_share * self.world.budget_seconds,
            streams={STREAM: StreamStatistics(rows_per_second=1.0)},
            queries={
                "sure": QueryStatistics(seconds_per_row=self.least_share),
                "rough": QueryStatistics(seconds_per_row=1 - self.least_share, moments={"total": Moments()}),
            },
        )
        told = replace(self.world.loop().settings, statistics=known)
        return promises.run_burst(self.world, controller=ControlLoop(asked, told, lambda: 0.0))


@st.composite
def shared(draw: st.DrawFn) -> Shared:
    """All that cannot be shed takes at most three quarters of the budget."""
    world = draw(worlds())
    largest = ((0.75 - world.fixed_share) / world.overload - world.read_share) / (1 - world.read_share)
    return Shared(world=world, least_share=draw(st.floats(0.0, max(0.0, largest))))


@examples(60)
@given(shared())
def test_the_promises_about_a_burst_hold_for_what_may_be_shed(shared: Shared) -> None:
    run = shared.run()
    assert promises.none_is_late_from_the_fourth_on(run)
    assert promises.nothing_waits_from_the_eighth_on(run)
    assert promises.rates_do_not_oscillate(run)
    assert promises.no_more_is_shed_than_the_load_asks(run)
    assert promises.two_micro_batches_later_all_is_whole_again(run)
    for done in run.overloaded[7:]:
        assert done.utilization * INTERVAL <= done.decision.plan.allowed_seconds * promises.ROUNDING


@examples(60)
@given(shared())
def test_what_is_never_shed_is_whole_and_the_others_get_the_rest(shared: Shared) -> None:
    for done in shared.run().trace:
        plan = done.decision.plan
        assert done.decision.query_codes["sure"] == 0
        assert all(clamp.reason == "guard_depth" for clamp in done.decision.clamps)
        assert done.decision.work_shares[STREAM] >= plan.least_shares[STREAM] * (1 - 1e-9)
        if plan.remedy is Remedy.SHED and not done.decision.clamps and shared.least_share < 0.99:
            wanted = plan.work_shares[STREAM] - plan.least_shares[STREAM]
            given = done.decision.work_shares[STREAM] - plan.least_shares[STREAM]
            assert 0.93 * wanted <= given <= wanted * (1 + 1e-9)
