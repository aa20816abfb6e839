"""Controllers of workers by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from streamshed.elasticity.controller_names import CONTROLLER_NAMES, DEFAULT_CONTROLLER, check_controller_name
from streamshed.elasticity.decision import ScalingController
from streamshed.elasticity.fixed_workers import FixedWorkers
from streamshed.elasticity.on_offered_load import OnOfferedLoad
from streamshed.elasticity.predictive_controller import PredictiveController
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.threshold_controller import ThresholdController

__all__ = ["CONTROLLERS", "DEFAULT_CONTROLLER", "controller_named"]

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
