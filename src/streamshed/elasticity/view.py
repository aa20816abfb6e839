"""What a controller of workers sees."""

from __future__ import annotations

from dataclasses import dataclass

from streamshed.elasticity.pieces import Pieces
from streamshed.elasticity.utilization import Utilization
from streamshed.elasticity.workers import WorkerLimits, Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """A cluster at one moment.

    Utilization is told twice. What is *offered* would be asked of the running workers if nothing were shed; what is
    *admitted* is asked of them. Who looks at the admitted alone cannot tell a load that just fits from one of which
    most is shed.

    Args:
        now_seconds: When, on the caller's clock.
        offered: τ of the load that comes.
        admitted: τ of what is left of it once some was shed.
        workers: What there is and could be had.
        undivided_share: The share of the work that one worker has to do, however many there are; 0: none is known.
    """

    now_seconds: float
    offered: Utilization
    admitted: Utilization
    workers: Workers
    undivided_share: float = 0.0

    def pieces(self, limits: WorkerLimits) -> Pieces:
        """Return in which pieces work comes."""
        return Pieces(limits.partitions, self.undivided_share)

    @property
    def loss_share(self) -> float:
        """The share of the offered work that is not done in time: shed, or admitted in vain.

        Example:
            >>> offered, admitted = Utilization(2.0), Utilization(0.8)
            >>> view = ClusterView(now_seconds=0.0, offered=offered, admitted=admitted, workers=Workers(running=1))
            >>> view.loss_share
            0.6
        """
        offered = self.offered.busiest - self.offered.fixed
        if offered <= 0:
            return 0.0
        done = min(self.admitted.busiest, 1.0) - self.admitted.fixed
        return min(1.0, max(0.0, 1 - done / offered))
