"""The controller of the text: workers are added above one threshold and released below another ([E])."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamshed.elasticity.lasting import NOT_YET, Lasting
from streamshed.elasticity.scaling_decision import ScalingDecision
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.sizing import demand_of, utilization_at, workers_at
from streamshed.elasticity.view import ClusterView


@dataclass(frozen=True, slots=True)
class ThresholdController:
    """Adds workers when τ ≥ τ3 has lasted, until τ is about τ1; releases when τ ≤ τ0 has, until τ1 or m = M.

    As in the text there is one τ, that of the rows which workers hold: the admitted load, net of what is fixed
    (`Utilization.net`). The text does not say how many workers come at a time; here those that bring this τ to τ1. It
    keeps adding while τ stays above τ1, once those it asked for carry load.

    Args:
        settings: Thresholds, limits, and how long they have to be passed.
        high: Since when τ ≥ τ3.
        low: Since when τ ≤ τ0 on these workers.
        adding: Whether it is adding until τ1.
        committed: How many workers there were, or were going to be, when it last looked.

    Example:
        >>> from streamshed.elasticity.utilization import Utilization
        >>> from streamshed.elasticity.workers import Workers
        >>> controller = ThresholdController(ElasticSettings(add_after_seconds=20.0))
        >>> for now in (0.0, 10.0, 20.0):
        ...     load = Utilization(0.96)
        ...     controller, decision = controller.step(ClusterView(
        ...         now_seconds=now, offered=load, admitted=load, workers=Workers(running=4, free=20)))
        >>> decision.workers, decision.reason, round(decision.expected_utilization, 3)
        (10, 'overload', 0.384)
    """

    settings: ElasticSettings
    high: Lasting = NOT_YET
    low: Lasting = NOT_YET
    adding: bool = False
    committed: int = 0

    def step(self, view: ClusterView) -> tuple[ThresholdController, ScalingDecision]:
        """Decide on the number of workers; see the class."""
        settings, utilization, now = self.settings, view.admitted.net, view.now_seconds
        thresholds = settings.thresholds
        high = self.high.observed(utilization >= thresholds.add, now)
        # Who is not given what it wants, as another needs more of the same workers, goes on wanting it.
        low = self.low if view.workers.committed == self.committed else NOT_YET
        low = low.observed(utilization <= thresholds.release, now)
        adding = utilization > thresholds.initial and (self.adding or high.for_seconds(settings.add_after_seconds, now))
        seen = replace(self, high=high, low=low, adding=adding, committed=view.workers.committed)
        if view.workers.starting:
            return seen, self._decided(view, view.workers.committed, "waiting")
        if adding:
            return seen, self._decided(view, self._until_initial(view), "overload")
        if low.for_seconds(settings.release_after_seconds, now):
            fewer = min(view.workers.committed, self._until_initial(view))
            return seen, self._decided(view, fewer, "idle")
        return seen, self._decided(view, view.workers.committed, "steady")

    def utmost(self, view: ClusterView) -> int:
        """Return as many as may be and can be had."""
        return self.settings.limits.within(view.workers.obtainable, view.workers, view.pieces(self.settings.limits))

    def _until_initial(self, view: ClusterView) -> int:
        pieces, load = view.pieces(self.settings.limits), view.admitted
        demand = demand_of(load, workers=view.workers.running, pieces=pieces)
        target = load.gross(self.settings.thresholds.initial)
        wanted = workers_at(target, demand=demand, fixed=load.fixed, pieces=pieces)
        return view.workers.obtainable if wanted is None else wanted

    def _decided(self, view: ClusterView, wanted: int, reason: str) -> ScalingDecision:
        pieces, committed = view.pieces(self.settings.limits), view.workers.committed
        granted = self.settings.limits.within(wanted, view.workers, pieces)
        if granted == committed and reason in {"overload", "idle"}:
            reason = "no_free_worker" if reason == "overload" else "steady"
        demand = demand_of(view.offered, workers=view.workers.running, pieces=pieces)
        return ScalingDecision(
            workers=granted,
            reason=reason,
            explanation=f"utilization {view.admitted.mean:.2f} of {view.workers.running} workers",
            expected_utilization=utilization_at(
                demand=demand, fixed=view.offered.fixed, workers=granted, pieces=pieces
            ),
        )
