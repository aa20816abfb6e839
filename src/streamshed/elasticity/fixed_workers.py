"""No scaling: what a cluster of fixed size does, for which shedding is all there is."""

from __future__ import annotations

from dataclasses import dataclass

from streamshed.elasticity.decision import ScalingDecision
from streamshed.elasticity.view import ClusterView


@dataclass(frozen=True, slots=True)
class FixedWorkers:
    """Keeps the workers that there are."""

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
