"""How rows are sampled where nothing is planned: alike in every micro-batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streamshed.planning.plan.query_rates import SizedRate


@dataclass(frozen=True)
class FixedSampling:
    """Rates that never change.

    Attributes:
        sampling_rate: At which rows are admitted, in (0, 1].
        sized: By query, how its rows are chosen by size.
        counting: By query whose rows are counted, the code of the rate at which they are.
    """

    sampling_rate: float
    sized: Mapping[str, SizedRate] = field(default_factory=dict)
    counting: Mapping[str, int] = field(default_factory=dict)
