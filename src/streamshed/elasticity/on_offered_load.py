"""A controller that is shown the offered load for the admitted one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamshed.elasticity.decision import ScalingController, ScalingDecision
from streamshed.elasticity.view import ClusterView


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
