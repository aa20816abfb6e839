"""Names of the controllers of workers, for those that need no controller."""

from __future__ import annotations

from streamshed.elasticity.errors import InvalidElasticityError
from streamshed.errors import near_miss

DEFAULT_CONTROLLER = "predictive"

CONTROLLER_NAMES = (DEFAULT_CONTROLLER, "thresholds", "thresholds_on_offered", "fixed")
"""Ours, that of the text, the same on the offered load, and none."""

KEEPS_WORKERS = frozenset({"fixed"})
"""These keep the workers that there are, however many."""

BY_SHED_FACTOR = frozenset({"thresholds"})
"""With these, how much is shed goes by the shed factor of the text."""


def check_controller_name(name: str) -> None:
    """Check that there is a controller of that name.

    Raises:
        InvalidElasticityError: There is none.

    Example:
        >>> check_controller_name("threshold")
        Traceback (most recent call last):
        streamshed.elasticity.errors.InvalidElasticityError: no controller 'threshold' (did you mean "thresholds"?);
        there are: predictive, thresholds, thresholds_on_offered, fixed
    """
    if name not in CONTROLLER_NAMES:
        raise InvalidElasticityError(
            f"no controller {name!r}{near_miss(str(name), CONTROLLER_NAMES)}; there are: {', '.join(CONTROLLER_NAMES)}"
        )
