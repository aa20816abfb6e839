"""Worlds for the control loop to live in: what arrives, what it truly costs, what is believed of that."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.network.run.load_prior import LoadPrior
from streamshed.simulator.costs import RowCost, TrueCosts
from streamshed.simulator.engine import Controller, EngineSettings, SimulatedMicroBatch
from streamshed.simulator.profiles import LoadCurve
from tests.oracles.simulation import simulate
from tests.unit.planning.networks import counting

INTERVAL = 2.0
STREAM = "packets"

Trace = Sequence[SimulatedMicroBatch]


@dataclass(frozen=True, kw_only=True)
class World:
    """A machine and a load, in shares of the budget so that they are easy to read.

    Args:
        headroom: H; the budget is H times the trigger interval.
        fixed_share: Fixed cost of a micro-batch, in budgets.
        seconds_per_row: True cost of a row that is kept.
        read_share: Part of that which is spent even on a dropped row.
        fixed_wrong_by: What the loop believes of the fixed cost, divided by the truth.
        row_wrong_by: The same for the cost per row.
        calm: Budgets that a calm micro-batch takes.
        overload: Budgets that an overloaded one would take if nothing were shed.
        calm_micro_batches: How many come first.
        offset_seconds: How long after a trigger boundary the load changes.
    """

    headroom: float
    fixed_share: float
    seconds_per_row: float
    read_share: float
    fixed_wrong_by: float
    row_wrong_by: float
    calm: float
    overload: float
    calm_micro_batches: int
    offset_seconds: float

    @property
    def budget_seconds(self) -> float:
        return self.headroom * INTERVAL

    @property
    def start_seconds(self) -> float:
        return self.calm_micro_batches * INTERVAL + self.offset_seconds

    def load(self, budgets: float) -> float:
        """Rows per second that take so many budgets."""
        return (budgets - self.fixed_share) * self.budget_seconds / self.seconds_per_row / INTERVAL

    def costs(self, **changes: Any) -> TrueCosts:
        row = RowCost(
            read_seconds=self.seconds_per_row * self.read_share,
            work_seconds=self.seconds_per_row * (1 - self.read_share),
        )
        fixed_seconds = self.fixed_share * self.budget_seconds
        return TrueCosts(fixed_seconds=fixed_seconds, rows={STREAM: row}, **changes)

    def loop(self, **settings: Any) -> ControlLoop:
        prior = LoadPrior(
            fixed_seconds=self.fixed_share * self.budget_seconds * self.fixed_wrong_by,
            seconds_per_row=self.seconds_per_row * self.row_wrong_by,
        )
        asked = {"prior": prior, **settings}
        known = ControlSettings(trigger_interval_seconds=INTERVAL, headroom=self.headroom, **asked)
        return ControlLoop(counting(STREAM), known, lambda: 0.0)

    def run(
        self,
        load: LoadCurve,
        micro_batches: int,
        *,
        costs: TrueCosts | None = None,
        controller: Controller | None = None,
        engine: EngineSettings | None = None,
    ) -> Trace:
        return simulate(
            controller or self.loop(),
            load={STREAM: load},
            costs=costs or self.costs(),
            settings=engine or EngineSettings(trigger_interval_seconds=INTERVAL),
            micro_batches=micro_batches,
        )

    def unshed_budgets(self, done: SimulatedMicroBatch) -> float:
        """Budgets that a micro-batch would truly have taken if nothing had been shed."""
        return self.fixed_share + done.offered_rows[STREAM] * self.seconds_per_row / self.budget_seconds

    def unshed_budgets_by_belief(self, done: SimulatedMicroBatch) -> float:
        """The same as the belief puts it, if it is scaled to what a calm micro-batch takes."""
        calm_rows_share = self.row_wrong_by * (self.calm - self.fixed_share)
        scale = self.calm / (self.fixed_wrong_by * self.fixed_share + calm_rows_share)
        rows_share = done.offered_rows[STREAM] * self.seconds_per_row / self.budget_seconds
        return scale * (self.fixed_wrong_by * self.fixed_share + self.row_wrong_by * rows_share)

    def overloaded(self, trace: Trace, until_seconds: float = math.inf) -> Trace:
        """Micro-batches of the overload, from the first that does not fit as a whole."""
        during = [done for done in trace if self.start_seconds < done.started_at_seconds <= until_seconds]
        too_big = [place for place, done in enumerate(during) if self.unshed_budgets(done) > 1]
        return during[too_big[0] :] if too_big else []


PLAIN = World(
    headroom=0.8,
    fixed_share=0.1,
    seconds_per_row=1e-6,
    read_share=0.05,
    fixed_wrong_by=1.0,
    row_wrong_by=1.0,
    calm=0.5,
    overload=5.0,
    calm_micro_batches=0,
    offset_seconds=0.0,
)
"""Nothing is wrongly believed, and no calm comes before the burst."""


def factors(largest: float) -> st.SearchStrategy[float]:
    """Factors from 1/largest to largest, alike on both sides."""
    return st.floats(-1, 1).map(lambda power: float(largest**power))


@st.composite
def worlds(draw: Callable[[st.SearchStrategy[Any]], Any]) -> World:
    """Costs wrong by three either way; all that cannot be shed takes at most three quarters of the budget."""
    fixed_share = draw(st.floats(0.03, 0.3))
    read_share = draw(st.floats(0.03, 0.4))
    largest_overload = (0.75 - fixed_share) / read_share + fixed_share
    return World(
        headroom=draw(st.floats(0.6, 0.9)),
        fixed_share=fixed_share,
        seconds_per_row=10 ** draw(st.floats(-7, -5)),
        read_share=read_share,
        fixed_wrong_by=draw(factors(3)),
        row_wrong_by=draw(factors(3)),
        calm=draw(st.floats(fixed_share + 0.05, 0.75)),
        overload=draw(st.floats(1.3, max(1.3, min(6.0, largest_overload)))),
        calm_micro_batches=draw(st.integers(0, 30)),
        offset_seconds=draw(st.floats(0, INTERVAL)),
    )


def codes(trace: Trace) -> list[int]:
    return [done.decision.work_codes[STREAM] for done in trace]


def reversals(values: Sequence[int]) -> int:
    """How often a sequence turns from rising to falling or back; plateaus do not count."""
    steps = [later - earlier for earlier, later in itertools.pairwise(values) if later != earlier]
    return sum((one > 0) != (other > 0) for one, other in itertools.pairwise(steps))
