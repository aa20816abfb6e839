"""Controllers of workers by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from streamshed.elasticity.controller_names import CONTROLLER_NAMES, DEFAULT_CONTROLLER, check_controller_name
from streamshed.elasticity.predictive_controller import PredictiveController
from streamshed.elasticity.scaling_decision import ScalingController, ScalingDecision
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.threshold_controller import ThresholdController
from streamshed.elasticity.view import ClusterView

__all__ = ["CONTROLLERS", "DEFAULT_CONTROLLER", "controller_named"]


@dataclass(frozen=True, slots=True)
class FixedWorkers:
    """Keeps the workers that there are, as a cluster of fixed size does: shedding is all there is."""

    def step(self, view: ClusterView) -> tuple[FixedWorkers, ScalingDecision]:
        """Want what runs or is about to."""
        committed = view.workers.committed
        decision = ScalingDecision(
            workers=committed,
            reason="fixed_workers",
            explanation=f"{committed} workers, and no others are asked for",
            expected_utilization=view.offered.mean,
        )
        return self, decision

    def utmost(self, view: ClusterView) -> int:
        """Return what runs or is about to."""
        return view.workers.committed


@dataclass(frozen=True, slots=True)
class OnOfferedLoad:
    """Wraps a controller that looks at the admitted load, so that shedding hides nothing from it.

    Args:
        controller: The controller.
    """

    controller: ScalingController

    def step(self, view: ClusterView) -> tuple[OnOfferedLoad, ScalingDecision]:
        """Let the controller decide as if nothing were shed."""
        controller, decision = self.controller.step(replace(view, admitted=view.offered))
        return OnOfferedLoad(controller), decision

    def utmost(self, view: ClusterView) -> int:
        """Return what the controller would want."""
        return self.controller.utmost(view)


CONTROLLERS: Mapping[str, Callable[[ElasticSettings], ScalingController]] = MappingProxyType(
    dict(
        zip(
            CONTROLLER_NAMES,
            (
                PredictiveController.of,
                ThresholdController,
                lambda settings: OnOfferedLoad(ThresholdController(settings)),
                lambda _: FixedWorkers(),
            ),
            strict=True,
        )
    )
)
"""Ours, that of the text, the same on the offered load, and none."""


def controller_named(name: str, settings: ElasticSettings) -> ScalingController:
    """Build a controller.

    Raises:
        InvalidElasticityError: There is none of that name.

    Example:
        >>> controller_named("threshold", ElasticSettings())
        Traceback (most recent call last):
        streamshed.elasticity.errors.InvalidElasticityError: no controller 'threshold' (did you mean "thresholds"?);
        there are: predictive, thresholds, thresholds_on_offered, fixed
    """
    check_controller_name(name)
    return CONTROLLERS[name](settings)
