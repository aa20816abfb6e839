"""A cluster as simple as can be: work in workers, workers that take time to start, shedding that always fits."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from streamshed.elasticity.scaling_decision import ScalingController, ScalingDecision
from streamshed.elasticity.utilization import Utilization
from streamshed.elasticity.view import ClusterView
from streamshed.elasticity.workers import Workers

STEP = 10.0
HOUR = 3600.0
DAY = 24 * HOUR

Demand = Callable[[float], float]


@dataclass(frozen=True)
class Moment:
    view: ClusterView
    decision: ScalingDecision

    @property
    def change(self) -> int:
        """Workers asked for, or released."""
        return self.decision.workers - self.view.workers.committed


@dataclass(frozen=True)
class Plant:
    """What is true of a cluster, and what is believed of it.

    `wrong_by` multiplies what the controller is told of shared work; `fixed` is the part of τ that nobody shares.
    """

    start_seconds: float = 30.0
    pool: int = 1000
    shed: float = 0.8
    fixed: float = 0.0
    wrong_by: float = 1.0
    noise_deviation: float = 0.0
    sheds: bool = True

    def drive(
        self, controller: ScalingController, demand: Demand, seconds: float, *, running: int = 1, seed: int = 0
    ) -> list[Moment]:
        nature = np.random.default_rng(seed)
        coming: list[tuple[float, int]] = []
        moments: list[Moment] = []
        for now in np.arange(0.0, seconds, STEP).tolist():
            running += sum(count for ready, count in coming if ready <= now)
            coming = [known for known in coming if known[0] > now]
            view = self._view(now, demand(now), running, sum(count for _, count in coming), nature)
            controller, decision = controller.step(view)
            change = decision.workers - view.workers.committed
            if change > 0:
                coming.append((now + self.start_seconds, change))
            running += min(change, 0)
            moments.append(Moment(view, decision))
        return moments

    def _view(self, now: float, demand: float, running: int, starting: int, nature: np.random.Generator) -> ClusterView:
        noise = float(np.exp(self.noise_deviation * nature.standard_normal()))
        offered = self.fixed + self.wrong_by * noise * demand / running
        admitted = min(offered, max(self.shed, self.fixed)) if self.sheds else offered
        return ClusterView(
            now_seconds=now,
            offered=Utilization(offered, fixed=self.fixed),
            admitted=Utilization(admitted, fixed=self.fixed),
            workers=Workers(running=running, starting=starting, free=self.pool - running - starting),
        )


def rescales(moments: Sequence[Moment]) -> list[Moment]:
    return [moment for moment in moments if moment.change]


def reversals(moments: Sequence[Moment]) -> int:
    """How often adding turns into releasing or back."""
    signs = [moment.change > 0 for moment in rescales(moments)]
    return sum(one != other for one, other in itertools.pairwise(signs))
