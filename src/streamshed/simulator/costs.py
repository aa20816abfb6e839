"""What micro-batches truly cost in a simulation; the control loop has to find out."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from streamshed.simulator.cluster import VirtualCluster


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCost:
    """What a row of a stream costs.

    Args:
        read_seconds: Even when the sampler drops it.
        work_seconds: On top when it is kept.
    """

    read_seconds: float
    work_seconds: float

    @property
    def whole_seconds(self) -> float:
        """What one costs that is kept."""
        return self.read_seconds + self.work_seconds


def unchanged(_: float) -> float:
    """Return 1: work costs the same at all times."""
    return 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueCosts:
    """What a micro-batch truly costs.

    Args:
        fixed_seconds: Without any row.
        rows: By stream, see `RowCost`.
        work_factor: Time in seconds → factor on `work_seconds`: a selectivity or a cost that drifts.
        warm_up: Factors on the whole of the first micro-batches, as while code is still being compiled.
        pauses: Factors on the whole of single micro-batches, as by garbage collection, by number.
        noise_deviation: Standard deviation of ln(duration).
        cluster: The workers that share what rows and joins take; None: there is one, and nothing happens to it.

    Example:
        >>> costs = TrueCosts(
        ...     fixed_seconds=0.2,
        ...     rows={"packets": RowCost(read_seconds=1e-6, work_seconds=4e-6)},
        ...     warm_up=(3.0,),
        ... )
        >>> nature = np.random.default_rng(0)
        >>> [
        ...     round(costs.seconds(number, {"packets": 100_000}, {"packets": 0.5}, 0.0, nature), 3)
        ...     for number in (0, 1)
        ... ]
        [1.5, 0.5]
        >>> from dataclasses import replace
        >>> from streamshed.simulator.cluster import ClusterSettings
        >>> shared = replace(costs, cluster=VirtualCluster(ClusterSettings(running=4, most=4)))
        >>> shared.seconds(1, {"packets": 2_000_000}, {"packets": 0.5}, 0.0, nature)
        1.7
    """

    fixed_seconds: float
    rows: Mapping[str, RowCost]
    work_factor: Callable[[float], float] = unchanged
    warm_up: tuple[float, ...] = ()
    pauses: Mapping[int, float] = field(default_factory=dict)
    noise_deviation: float = 0.0
    cluster: VirtualCluster | None = None

    def seconds(
        self,
        micro_batch_id: int,
        offered_rows: Mapping[str, int],
        sampling_rates: Mapping[str, float],
        now_seconds: float,
        nature: np.random.Generator,
        *,
        join_seconds: float = 0.0,
    ) -> float:
        """Return how long a micro-batch takes.

        Args:
            micro_batch_id: Its number, from 0.
            offered_rows: Its rows by stream.
            sampling_rates: What is kept of them.
            now_seconds: When it starts.
            nature: Where noise comes from.
            join_seconds: What its joins take besides, on one worker.
        """
        shared = join_seconds + self.row_seconds(offered_rows, sampling_rates, now_seconds)
        if self.cluster is None:
            lasting = self.fixed_seconds + shared
        else:
            lasting = self.cluster.seconds(fixed_seconds=self.fixed_seconds, shared_seconds=shared)
        return lasting * self._slowdown(micro_batch_id, nature)

    def row_seconds(
        self, offered_rows: Mapping[str, int], sampling_rates: Mapping[str, float], now_seconds: float
    ) -> float:
        """Return what the rows of a micro-batch take, on one worker and without noise."""
        work_factor = self.work_factor(now_seconds)
        return sum(
            rows
            * (self.rows[stream].read_seconds + self.rows[stream].work_seconds * work_factor * sampling_rates[stream])
            for stream, rows in offered_rows.items()
        )

    def _slowdown(self, micro_batch_id: int, nature: np.random.Generator) -> float:
        """How many times longer than costs tell a micro-batch takes."""
        slowed = self.warm_up[micro_batch_id] if micro_batch_id < len(self.warm_up) else 1.0
        paused = self.pauses.get(micro_batch_id, 1.0)
        noise = math.exp(self.noise_deviation * float(nature.standard_normal()))
        return slowed * paused * noise
