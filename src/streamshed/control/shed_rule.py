"""Shedding by the shed factor of the text ([E] Eq. 3), in the place of a headroom that is always the same."""

from __future__ import annotations

from dataclasses import dataclass

from streamshed.elasticity.controller_names import BY_SHED_FACTOR
from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.shed_factor import ShedFactor
from streamshed.elasticity.utilization import Utilization


@dataclass(frozen=True, slots=True, kw_only=True)
class ShedRule:
    """Which share of the time may be filled, by how much is offered.

    From τ2 on the share SF of the rows is dropped. In time, that leaves the utilization at which SF settles: hardly
    more than τ2 for a load that is hardly larger, nearly 1 for one that is many times as large. τ is net of what a
    micro-batch takes without rows.

    Args:
        factor: SF.

    Example:
        >>> rule = ShedRule(factor=ShedFactor(begin=0.8))
        >>> offered = (0.5, 0.9, 2.0, 20.0)
        >>> [round(rule.headroom(seconds, fixed_seconds=0.0, available_seconds=1.0), 3) for seconds in offered]
        [0.8, 0.818, 0.909, 0.99]
    """

    factor: ShedFactor

    def headroom(self, unshed_seconds: float, *, fixed_seconds: float, available_seconds: float) -> float:
        """Return the share of the time that a plan may fill.

        Args:
            unshed_seconds: How long the micro-batch would take if nothing were shed.
            fixed_seconds: How long it takes without any row.
            available_seconds: How much time there is for all, above 0.
        """
        offered, fixed = (
            seconds / available_seconds for seconds in (unshed_seconds, min(fixed_seconds, unshed_seconds))
        )
        load = Utilization(offered, fixed=fixed)
        return min(1.0, load.gross(max(self.factor.begin, self.factor.settled(load.net))))


def shed_rule(elastic: ElasticSettings | None, controller: str | None = None) -> ShedRule | None:
    """Return by which rule load is shed; None: by the headroom.

    Args:
        elastic: What is asked of elasticity; None: nothing is.
        controller: Who decides on workers; None: as is said there.
    """
    if elastic is None or (controller or elastic.controller) not in BY_SHED_FACTOR:
        return None
    return ShedRule(factor=elastic.shed_factor)
