"""What `explain` says of a load, what a run decides on it and what `simulate` shows of it are the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import assume, given
from hypothesis import strategies as st

from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.model.query import Query
from streamshed.network.run.policy_names import DEFAULT_POLICY
from streamshed.planning.explain.explanation import Explanation
from streamshed.planning.plan.budget import Budget
from streamshed.planning.plan.coming_work import coming_work
from streamshed.planning.plan.policies import policy_named
from streamshed.planning.plan.query_rates import QueryRates
from streamshed.planning.plan.work_shares import plan_work_shares
from streamshed.planning.tree.quantization import WHOLE, sampling_rate_of
from streamshed.planning.window_drop.choose.drop_plan import PATIENCE
from streamshed.simulator.engine import EngineSettings, SimulatedMicroBatch
from streamshed.simulator.network_costs import network_costs, prior_of
from streamshed.simulator.profiles import constant
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.load_model import LoadModel
from streamshed.statistics.network_statistics import NetworkStatistics, QueryStatistics, StreamStatistics
from tests.oracles.explaining import explain
from tests.oracles.simulation import simulate
from tests.thoroughness import examples
from tests.unit.planning.networks import rows_of

TRIGGER, HEADROOM = 2.0, 0.8
STEP = 10 ** (1 / 32)
"""Rates are rounded to steps of so much."""
ROUNDING = STEP - 1
EDGE = 0.03
"""So near the load at which shedding begins, or nothing is left to shed, rounding decides."""


ENTERING = 0.15
"""Where no more than this is too much, a run waits whether it lasts: headroom is there for it (`Hysteresis`)."""


@dataclass(frozen=True, slots=True)
class Load:
    """A network, what is known of it, and how many times what it sustains comes."""

    network: QueryNetwork
    known: NetworkStatistics
    factor: float

    @property
    def explanation(self) -> Explanation:
        return explain(
            self.network,
            self.known,
            load_factor=self.factor,
            trigger_interval_seconds=TRIGGER,
            headroom=HEADROOM,
        )

    @property
    def planned(self) -> tuple[QueryRates, float]:
        """What the planners of a run make of its rows where nothing is in doubt, and what that takes."""
        rows = {"s": round(self.explanation.rows_per_second * TRIGGER)}
        prior = prior_of(network_costs(self.network, self.known, trigger_interval_seconds=TRIGGER), is_measured=True)
        statistics = Statistics(offered_rows=rows, load_model=LoadModel.initial(["s"], prior))
        work = coming_work(self.network, self.known, statistics, trigger_interval_seconds=TRIGGER)
        policy = policy_named(DEFAULT_POLICY)
        statistics = replace(statistics, least_shares=policy.least_shares(work))
        budget = Budget(trigger_interval_seconds=TRIGGER, deadline_seconds=TRIGGER, headroom=HEADROOM)
        found = policy.query_rates(work, plan_work_shares(self.network, statistics, budget).work_codes)
        return found, statistics.seconds(found.work_shares)

    def simulated(self, micro_batches: int) -> tuple[SimulatedMicroBatch, ...]:
        """The course of as many rows per second as `explain` speaks of."""
        costs = network_costs(self.network, self.known, trigger_interval_seconds=TRIGGER)
        settings = ControlSettings(
            trigger_interval_seconds=TRIGGER,
            headroom=HEADROOM,
            prior=prior_of(costs, is_measured=True),
            statistics=self.known,
            unscalable="keep",
        )
        return simulate(
            ControlLoop(self.network, settings, lambda: 0.0),
            load={"s": constant(self.explanation.rows_per_second)},
            costs=costs,
            settings=EngineSettings(trigger_interval_seconds=TRIGGER),
            micro_batches=micro_batches,
        )


def _queries(kinds: list[str], weights: list[float]) -> list[Query]:
    rows, found = rows_of("s"), []
    for number, (kind, weight) in enumerate(zip(kinds, weights, strict=True)):
        name = f"{kind}_{number}"
        match kind:
            case "counted":
                node = rows.window("100 rows").by("value").agg(n="count(*)", total="sum(value)")
                found.append(node.query(name, mode="exact"))
            case "exact":
                found.append(rows.window("10 seconds").agg(n="count(*)").query(name, weight=weight, mode="exact"))
            case _:
                found.append(rows.window("10 seconds").agg(n="count(*)").query(name, weight=weight))
    return found


WHOLE_OR_SAMPLED = ("sampled", "sampled", "exact", "counted")


def loaded(
    draw: st.DrawFn, queries: Sequence[Query], *, fixed_seconds: tuple[float, float], factors: tuple[float, float]
) -> Load:
    """Queries over a stream that cost anything, with a load; fixed costs and multiples within bounds."""
    known = NetworkStatistics(
        fixed_seconds=draw(st.floats(*fixed_seconds)),
        streams={
            "s": StreamStatistics(
                rows_per_second=1e5,
                read_seconds_per_row=draw(st.floats(1e-7, 1e-6)),
                parse_seconds_per_row=draw(st.floats(1e-7, 5e-6)),
            )
        },
        queries={query.name: QueryStatistics(seconds_per_row=draw(st.floats(1e-7, 5e-6))) for query in queries},
    )
    return Load(network(*queries), known, draw(st.floats(*factors)))


@st.composite
def loads(draw: st.DrawFn, *, kinds_of_queries: tuple[str, ...]) -> Load:
    kinds = draw(st.lists(st.sampled_from(kinds_of_queries), min_size=1, max_size=4))
    queries = _queries(kinds, draw(st.lists(st.sampled_from((1.0, 3.0)), min_size=len(kinds), max_size=len(kinds))))
    return loaded(draw, queries, fixed_seconds=(0.05, 1.0), factors=(0.5, 4.0))


def agree(said: Explanation, expected_seconds: float, *, sheds: bool, leaves: float, edge: float = EDGE) -> None:
    """Compare what is shed.

    Args:
        said: What was said.
        expected_seconds: What a micro-batch was planned to take.
        sheds: Whether anything was to be shed.
        leaves: The share of the time by which less may be done than was said.
        edge: So much less than all has to be done for shedding to be certain.
    """
    is_shed = any(one.effective_sampling_rate < 1 for one in said.outlooks)
    if not is_shed or said.expected_seconds < (1 - edge) * said.unshed_seconds:
        assert is_shed == sheds
    sheddable = max(0.0, said.expected_seconds - said.unsheddable_seconds - said.protected_seconds)
    slack = (leaves + EDGE / 10) * TRIGGER + 2 * ROUNDING * sheddable
    assert said.expected_seconds - slack <= expected_seconds <= said.expected_seconds * (1 + edge)


@examples(100)
@given(loads(kinds_of_queries=WHOLE_OR_SAMPLED))
def test_a_run_plans_what_explain_says(load: Load) -> None:
    said, (found, expected_seconds) = load.explanation, load.planned
    agree(said, expected_seconds, sheds=any(code != WHOLE for code in found.codes.values()), leaves=0.0)
    for one in said.outlooks:
        rate, planned = one.effective_sampling_rate, sampling_rate_of(found.codes[one.query])
        assert planned == 1 if one.is_protected else planned <= max(3 * STEP * rate, ROUNDING)


@examples(40)
@given(loads(kinds_of_queries=WHOLE_OR_SAMPLED))
def test_simulate_shows_what_explain_says(load: Load) -> None:
    """Once the load has lasted: rates rise in steps, and stop where there is no room for another one."""
    said = load.explanation
    assume(said.unsheddable_seconds + said.protected_seconds < 0.9 * TRIGGER)  # Else it falls behind, whatever is shed.
    last = load.simulated(4 * PATIENCE)[-1].decision
    agree(said, last.expected_seconds, sheds=last.shedding, leaves=0.1, edge=ENTERING)
