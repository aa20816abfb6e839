"""What the user asks of elasticity."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from streamshed.elasticity.controller_names import DEFAULT_CONTROLLER, check_controller_name
from streamshed.elasticity.errors import InvalidElasticityError
from streamshed.elasticity.shed_factor import ShedFactor
from streamshed.elasticity.thresholds import Thresholds
from streamshed.elasticity.workers import WorkerLimits
from streamshed.errors import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticSettings:
    """Thresholds, limits, and what a rescale takes.

    Args:
        thresholds: τ0 to τ3.
        limits: How few and how many workers there may be.
        start_seconds: From asking for a worker until it carries load.
        held_up_seconds: How much longer a micro-batch is believed to take during which workers start, until a rescale
            has shown it.
        rescale_price_seconds: What a rescale is worth: as much as losing all rows for so long.
        add_after_seconds: How long τ ≥ τ3 must last before the controller `thresholds` adds workers.
        release_after_seconds: How long load must be low before workers are released.
        look_ahead_seconds: For how long after their start workers are meant to suffice where load rises; as long is
            load looked back upon.
        controller: Who decides on workers, by name.
        base_shed: B of the shed factor, by which load is shed with the controller `thresholds`.
        shed_shape: `linear` or `quadratic`, likewise.
        worker_rows: W, how many rows of state a worker can hold; None: workers are counted by time alone.

    Raises:
        InvalidElasticityError: A duration is negative or endless, the shed factor cannot be, a worker can hold nothing,
            or there is no such controller.
    """

    thresholds: Thresholds = field(default_factory=Thresholds)
    limits: WorkerLimits = field(default_factory=WorkerLimits)
    start_seconds: float = 30.0
    held_up_seconds: float = 0.0
    rescale_price_seconds: float = 10.0
    add_after_seconds: float = 60.0
    release_after_seconds: float = 900.0
    look_ahead_seconds: float = 600.0
    controller: str = DEFAULT_CONTROLLER
    base_shed: float = 0.0
    shed_shape: str = "linear"
    worker_rows: int | None = None

    def __post_init__(self) -> None:
        for name in ("start_seconds", "held_up_seconds", "rescale_price_seconds", "add_after_seconds"):
            self._check(name, allows_zero=True)
        for name in ("release_after_seconds", "look_ahead_seconds"):
            self._check(name, allows_zero=False)
        if self.worker_rows is not None and self.worker_rows < 1:
            raise InvalidElasticityError(
                Problem("elasticity: a worker must hold a row at least", got=str(self.worker_rows))
            )
        _ = self.shed_factor
        check_controller_name(self.controller)

    @property
    def shed_factor(self) -> ShedFactor:
        """What is shed from τ2 on in the text."""
        return ShedFactor(begin=self.thresholds.shed, base=self.base_shed, shape=self.shed_shape)

    def _check(self, name: str, *, allows_zero: bool) -> None:
        value = getattr(self, name)
        if not (math.isfinite(value) and (value > 0 or (allows_zero and value == 0))):
            least = "at least 0" if allows_zero else "above 0"
            raise InvalidElasticityError(Problem(f"elasticity: {name} must be finite and {least}", got=str(value)))
