"""Controllers of workers by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from streamshed.elasticity.decision import ScalingController
from streamshed.elasticity.errors import InvalidElasticityError
from streamshed.elasticity.fixed_workers import FixedWorkers
from streamshed.elasticity.on_offered_load import OnOfferedLoad
from streamshed.elasticity.predictive_controller import PredictiveController
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.threshold_controller import ThresholdController
from streamshed.errors import near_miss

DEFAULT_CONTROLLER = "predictive"

CONTROLLERS: Mapping[str, Callable[[ElasticSettings], ScalingController]] = MappingProxyType(
    {
        "predictive": PredictiveController.of,
        "thresholds": ThresholdController,
        "thresholds_on_offered": lambda settings: OnOfferedLoad(ThresholdController(settings)),
        "fixed": lambda _: FixedWorkers(),
    }
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
    if name not in CONTROLLERS:
        raise InvalidElasticityError(
            f"no controller {name!r}{near_miss(name, CONTROLLERS)}; there are: {', '.join(CONTROLLERS)}"
        )
    return CONTROLLERS[name](settings)
