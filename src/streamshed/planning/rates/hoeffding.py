"""Effective sampling rates under which all queries have the same bound on their error: the policy of [B04] §3.1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streamshed.planning.rates.effective_rates import effective_rates
from streamshed.planning.tree.demand import Demand
from streamshed.planning.tree.work_tree import Truths, Vector, WorkTree


@dataclass(frozen=True, slots=True, kw_only=True)
class HoeffdingSettings:
    """What [B04] leaves to choose.

    Args:
        exceeded_share: δ: with this probability at most an error exceeds the bound that is minimized. Where only
            aggregates are shed and nothing is added, rates are the same for any: it tells what sets weigh beside them.
        fudge: Added to the C of every query (§3.1.1), against statistics that may be wrong: the larger, the more alike
            all rates.

    Raises:
        ValueError: A value is out of range.
    """

    exceeded_share: float = 0.05
    fudge: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.exceeded_share < 1:
            raise ValueError(f"hoeffding: exceeded_share must be between 0 and 1, got {self.exceeded_share}")
        if not 0 <= self.fudge < math.inf:
            raise ValueError(f"hoeffding: fudge must be finite and at least 0, got {self.fudge}")

    def __str__(self) -> str:
        """Write what is chosen in the paper's symbols.

        >>> str(HoeffdingSettings()), str(HoeffdingSettings(fudge=0.1))
        ('δ = 0.05', 'δ = 0.05, C + 0.1')
        """
        return f"δ = {self.exceeded_share:.3g}" + (f", C + {self.fudge:g}" if self.fudge else "")


PAPERS_BOUND = HoeffdingSettings()
"""Nothing is added to C."""


def hoeffding_rates(
    tree: WorkTree, demands: Sequence[Demand], budget_seconds: float, settings: HoeffdingSettings = PAPERS_BOUND
) -> Vector:
    """Minimize the largest weighted error bound w·C/P subject to the load: P_q = min(1, λ·C_q·w_q).

    Observation 3.2: at the optimum all bounds are equal; so there is one λ = 1/ε_max, and the load is tight. Where a
    rate would exceed 1, its query is exact, and λ rises for the rest (§3.2.1).

    Returns:
        The rate of each query, in [0, 1]; those of protected queries are 1.

    Example:
        >>> from streamshed.planning.tree.work_tree import WorkNode
        >>> tree = WorkTree((
        ...     WorkNode(name="packets", parent=None, seconds=0.0),
        ...     WorkNode(name="a", parent=0, seconds=1.0, query=0),
        ...     WorkNode(name="b", parent=0, seconds=1.0, query=1),
        ... ))
        >>> demands = [Demand(query="a", coefficient=0.01), Demand(query="b", coefficient=0.04)]
        >>> hoeffding_rates(tree, demands, 0.6).round(3).tolist(), hoeffding_rates(tree, demands, 1.6).round(3).tolist()
        ([0.2, 0.4], [0.6, 1.0])
    """
    wanted = np.array(
        [(demand.hoeffding_coefficient(settings.exceeded_share) + settings.fudge) * demand.weight for demand in demands]
    )

    def slopes(_tree: WorkTree, _seconds: Vector, _sunk: Truths, _members: Truths) -> Vector:
        return wanted

    return effective_rates(tree, demands, budget_seconds, slopes)
