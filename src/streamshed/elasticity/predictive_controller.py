"""Our controller: sheds while that is cheaper than a rescale, and adds workers ahead of a load that rises."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamshed.elasticity.lasting import NOT_YET, Lasting
from streamshed.elasticity.pieces import Pieces
from streamshed.elasticity.scaling_decision import ScalingDecision
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.sizing import demand_of, utilization_at, workers_at
from streamshed.elasticity.trend import Trend
from streamshed.elasticity.utilization import Utilization
from streamshed.elasticity.view import ClusterView

LARGEST_GROWTH = 2.0
"""A trend is not believed to more than double a load."""

SKEWED = 1.5
"""The busiest worker is busier than its pieces make it, by more than chance."""


@dataclass(frozen=True, slots=True)
class AccumulatedLoss:
    """Loss over time, in seconds of losing everything; it fades while nothing is lost.

    Rent or buy: nobody knows how long an overload lasts. Shedding is rent, a rescale is the price. Who rents until the
    rent paid equals the price, and then buys, pays at most twice the best cost in hindsight. Loss fades: short
    overloads far between are shed, and a lasting one, however slight, is worth workers some day.

    Args:
        half_life_seconds: After so long without any, half of a loss is forgotten.
        seconds: Lost until now.
        at_seconds: When that was; None: nothing was observed yet.

    Example:
        >>> loss = AccumulatedLoss(half_life_seconds=600.0).observed(0.0, 0.5).observed(10.0, 0.5)
        >>> loss.seconds
        5.0
        >>> round(loss.observed(610.0, 0.0).seconds, 3)
        2.5
    """

    half_life_seconds: float
    seconds: float = 0.0
    at_seconds: float | None = None

    def observed(self, now_seconds: float, loss_share: float) -> AccumulatedLoss:
        """Take in the share that was lost since the observation before.

        Args:
            now_seconds: Not earlier than then.
            loss_share: In [0, 1].
        """
        elapsed = 0.0 if self.at_seconds is None else max(0.0, now_seconds - self.at_seconds)
        if loss_share > 0:
            return AccumulatedLoss(self.half_life_seconds, self.seconds + loss_share * elapsed, now_seconds)
        faded_seconds = self.seconds * 0.5 ** (elapsed / self.half_life_seconds)
        return AccumulatedLoss(self.half_life_seconds, faded_seconds, now_seconds)

    def settled(self) -> AccumulatedLoss:
        """Return it once the rescale was bought."""
        return AccumulatedLoss(self.half_life_seconds, 0.0, self.at_seconds)


@dataclass(frozen=True, slots=True)
class PredictiveController:
    """Weighs what shedding costs against what a rescale does.

    It looks at the offered load, as work in workers: D = (τ − fixed)·m, which does not change when workers come or go.

    - *Adds* once the share of rows lost, summed up over time, is worth a rescale (`AccumulatedLoss`), as far as
      workers that start would not cure it; or where a trend takes the load beyond τ2 before workers that are asked
      for now would run.
    - *Aims* at τ1, or halfway between what is fixed and τ2 if that is more: load has to double before any is missing
      again. Where load rises, it aims at what load is going to be when they have run for a while.
    - *Releases* where load was so low for long that τ1 takes no more than τ0/τ1 of the workers, by the largest load
      of that time.
    - *Knows* what no worker can share: where one piece of the work is larger than what an even spread would give
      anyone, no more workers are asked for than can carry load beside the one that has it.

    So behind a rescale load has to double, or to fall to half for long, before there is another; and workers are
    released no more often than once in `release_after_seconds`.

    Args:
        settings: Thresholds, limits, price and duration of a rescale.
        trend: Of the work D, over the time that is looked back upon.
        loss: What was lost since the last rescale.
        low: Since when fewer workers would do than these.
        committed: How many workers there were, or were going to be, when it last looked.

    Example:
        Half of the load is shed; at a price of nine seconds, that is worth a rescale after twenty.

        >>> from streamshed.elasticity.utilization import Utilization
        >>> from streamshed.elasticity.workers import Workers
        >>> controller = PredictiveController.of(ElasticSettings(rescale_price_seconds=9.0))
        >>> for now in (0.0, 10.0, 20.0):
        ...     controller, decision = controller.step(ClusterView(
        ...         now_seconds=now, offered=Utilization(1.6), admitted=Utilization(0.8),
        ...         workers=Workers(running=4, free=20)))
        ...     print(decision.workers, decision.reason)
        4 steady
        4 steady
        16 overload
    """

    settings: ElasticSettings
    trend: Trend
    loss: AccumulatedLoss
    low: Lasting = NOT_YET
    committed: int = 0

    @classmethod
    def of(cls, settings: ElasticSettings) -> PredictiveController:
        """Build one that has seen nothing."""
        seconds = settings.look_ahead_seconds
        return cls(settings, Trend(seconds), AccumulatedLoss(half_life_seconds=seconds))

    def step(self, view: ClusterView) -> tuple[PredictiveController, ScalingDecision]:
        """Decide on the number of workers; see the class."""
        return self.observed(view).decided(view)

    def utmost(self, view: ClusterView) -> int:
        """Return as many as may be and can be had; those that there are where what is fixed leaves no room."""
        if view.offered.fixed >= self.settings.thresholds.shed:
            return view.workers.committed
        return self.settings.limits.within(view.workers.obtainable, view.workers, view.pieces(self.settings.limits))

    def decided(self, view: ClusterView) -> tuple[PredictiveController, ScalingDecision]:
        """Decide on a view that was taken in."""
        reason, wanted = self._wanted(view)
        committed = view.workers.committed
        granted = self.settings.limits.within(wanted, view.workers, view.pieces(self.settings.limits))
        if reason in _ADDS and granted <= committed:
            reason, granted = "no_free_worker", committed
        if reason == "idle" and granted >= committed:
            reason, granted = "steady", committed
        decision = self._decision(view, granted, reason)
        if granted == committed:
            return self, decision
        return replace(self, loss=self.loss.settled()), decision

    def observed(self, view: ClusterView) -> PredictiveController:
        """Take in a view."""
        now = view.now_seconds
        pieces, offered = view.pieces(self.settings.limits), view.offered
        demand = _demand(view, pieces)
        after = utilization_at(demand=demand, fixed=offered.fixed, workers=view.workers.committed, pieces=pieces)
        room = self.settings.thresholds.shed - offered.fixed
        uncured = max(0.0, 1 - max(0.0, room) / (after - offered.fixed)) if after > offered.fixed else 0.0
        trend = self.trend.observed(now, demand)
        fewer = self._aimed(trend.largest, offered.fixed, pieces)
        share = self.settings.thresholds.release / self.settings.thresholds.initial
        is_low = fewer is not None and not view.workers.starting and fewer <= share * view.workers.committed
        # Who is not given what it wants, as another needs more of the same workers, goes on wanting it.
        low = self.low if view.workers.committed == self.committed else NOT_YET
        return replace(
            self,
            trend=trend,
            loss=self.loss.observed(now, min(view.loss_share, uncured)),
            low=low.observed(is_low, now),
            committed=view.workers.committed,
        )

    def _wanted(self, view: ClusterView) -> tuple[str, int]:
        """The reason, and how many workers it asks for."""
        settings, committed, fixed = self.settings, view.workers.committed, view.offered.fixed
        pieces, shed = view.pieces(settings.limits), settings.thresholds.shed
        demand = self.trend.latest
        coming = min(self.trend.ahead(settings.start_seconds), LARGEST_GROWTH * demand)
        now, soon = (
            utilization_at(demand=work, fixed=fixed, workers=committed, pieces=pieces) for work in (demand, coming)
        )
        rises, lost = soon > shed and coming > demand, self.loss.seconds >= settings.rescale_price_seconds
        if rises or (lost and now > shed):
            later = self.trend.ahead(settings.start_seconds + settings.look_ahead_seconds)
            aimed = self._aimed(min(max(demand, later), LARGEST_GROWTH * demand), fixed, pieces)
            if aimed is None:
                return "not_shareable", committed
            if aimed > committed or not pieces.holds_up(committed):
                return "overload" if lost else "rising", aimed
        is_low, is_held_up = (
            self.low.for_seconds(settings.release_after_seconds, view.now_seconds),
            pieces.holds_up(committed),
        )
        # Workers that wait for the one with the largest piece are idle ones, overload or not.
        if view.offered.busiest > shed and (is_held_up or _is_skewed(view, pieces)) and not (is_low and is_held_up):
            return "skewed", committed
        if is_low:
            return "idle", self._aimed(self.trend.largest, fixed, pieces) or committed
        return ("waiting" if view.workers.starting else "steady"), committed

    def _aimed(self, demand: float, fixed: float, pieces: Pieces) -> int | None:
        """How many workers bring τ to where load can double; None: no number leaves any room."""
        thresholds = self.settings.thresholds
        if fixed >= thresholds.shed:
            return None
        target = max(thresholds.initial, (fixed + thresholds.shed) / 2)
        return workers_at(target, demand=demand, fixed=fixed, pieces=pieces)

    def _decision(self, view: ClusterView, granted: int, reason: str) -> ScalingDecision:
        pieces, workers, fixed = view.pieces(self.settings.limits), view.workers, view.offered.fixed
        expected = utilization_at(demand=self.trend.latest, fixed=fixed, workers=granted, pieces=pieces)
        return ScalingDecision(
            workers=granted,
            reason=reason,
            explanation=_EXPLANATIONS[reason].format(
                offered=view.offered.mean,
                largest=view.offered.busiest,
                lost=self.loss.seconds,
                soon=utilization_at(
                    demand=self.trend.ahead(self.settings.start_seconds),
                    fixed=fixed,
                    workers=workers.committed,
                    pieces=pieces,
                ),
            )
            + _held_up(pieces, workers.committed),
            expected_utilization=expected,
        )


def _demand(view: ClusterView, pieces: Pieces) -> float:
    """The work in workers; as long as the busiest has no more than its pieces explain, it decides.

    Else it is busy for some reason of its own: with a piece that nothing tells of yet, or because it is slow, which
    more workers would not change.
    """
    if _is_skewed(view, pieces):
        return view.offered.demand(view.workers.running)
    return _demand_of_busiest(view, pieces)


def _is_skewed(view: ClusterView, pieces: Pieces) -> bool:
    """Whether the busiest worker has more to do than pieces explain: the one with two of eight, where seven have one.

    If they explain all of it, the work by the busiest is that by the mean of all.
    """
    return _demand_of_busiest(view, pieces) > SKEWED * view.offered.demand(view.workers.running)


def _demand_of_busiest(view: ClusterView, pieces: Pieces) -> float:
    load = view.offered
    return demand_of(Utilization(load.busiest, fixed=load.fixed), workers=view.workers.running, pieces=pieces)


def _held_up(pieces: Pieces, workers: int) -> str:
    if not pieces.holds_up(workers):
        return ""
    return (
        f"; one piece is {pieces.undivided_share:.2g} of the work, beside which no more than"
        f" {pieces.useful_workers(workers)} workers can carry load"
    )


_ADDS = {"overload", "rising"}

_EXPLANATIONS = {
    "steady": "utilization {offered:.2f}",
    "waiting": "utilization {offered:.2f}, workers are starting",
    "overload": "utilization {offered:.2f}, and so much was lost that workers are worth it",
    "rising": "utilization {offered:.2f}, and it is going to be {soon:.2f} before workers asked for now would run",
    "idle": "utilization {offered:.2f}, low for long",
    "no_free_worker": "utilization {offered:.2f}, and no more workers that help can be had: load is shed",
    "skewed": "utilization {offered:.2f}, but {largest:.2f} of the busiest worker: more workers would not change that",
    "not_shareable": "what a micro-batch takes without rows leaves no room on any number of workers",
}
"""What the reasons mean, with figures."""
