"""What a micro-batch turned out to cost, as measured."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from streamshed.statistics.speedup import check_speedup, costed, reading_cost, scattered_cost

_NEARLY_ALL = 1 - 1e-9
"""Of a stream that was not read whole no more was done: of all of its rows it is a small share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatchOutcome:
    """One finished micro-batch: how many rows it was offered, how many it admitted, how long it took.

    Args:
        micro_batch_id: Its number; later micro-batches have larger ones.
        offered_rows: Rows that came in, by stream, before anything was shed.
        admitted_rows: Rows that passed the sampler, by stream; estimates may be fractional.
        sampling_rates: The share of rows each stream's sampler kept, in (0, 1]; a stream left out kept all.
        processing_seconds: From the start of the micro-batch to its last answer.
        trigger_interval_seconds: How often a micro-batch should start.
        started_at_seconds: When it started, on the clock of the caller.
        work_shares: The share of the work on its rows that was done, by stream, where that is not the share of rows
            that passed its sampler.
        state_entries: How many entries state had at its end: groups of slices of windows.
        state_written_entries: How many of them it wrote.
        state_written_bytes: How large these were, together.
        speedup: How many times faster rows were worked off than on the workers that costs are known for.
        work_per_row: By joined stream, how many units of work a row was; a row of others is one.
        read_shares: The share of its rows that was read, by stream; a stream left out was read whole.
        bundle_widths: Of the former, how many neighboring blocks were read together; one of a stream left out.
        scattered_costs: Of the same, what a row cost that was read, see `reading_cost`; of a stream left out, what is
            believed.
        is_cold: Whether it was one of the first of a run, which spend most of their time on compiling what the others
            use.

    Raises:
        ValueError: A count is negative, a sampling rate is outside (0, 1], or a duration is not positive.

    Example:
        >>> outcome = MicroBatchOutcome(
        ...     micro_batch_id=7, offered_rows={"packets": 1000}, admitted_rows={"packets": 240.0},
        ...     sampling_rates={"packets": 0.24}, processing_seconds=1.5, trigger_interval_seconds=2.0,
        ...     started_at_seconds=14.0,
        ... )
        >>> outcome.utilization, outcome.sampling_rate("packets"), outcome.sampling_rate("flows")
        (0.75, 0.24, 1.0)
    """

    micro_batch_id: int
    offered_rows: Mapping[str, int]
    admitted_rows: Mapping[str, float]
    sampling_rates: Mapping[str, float]
    processing_seconds: float
    trigger_interval_seconds: float
    started_at_seconds: float
    work_shares: Mapping[str, float] = field(default_factory=dict)
    state_entries: int = 0
    state_written_entries: int = 0
    state_written_bytes: int = 0
    is_cold: bool = False
    speedup: float = 1.0
    work_per_row: Mapping[str, float] = field(default_factory=dict)
    read_shares: Mapping[str, float] = field(default_factory=dict)
    bundle_widths: Mapping[str, int] = field(default_factory=dict)
    scattered_costs: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("processing_seconds", "trigger_interval_seconds"):
            seconds = getattr(self, name)
            if not (math.isfinite(seconds) and seconds > 0):
                raise ValueError(f"{self._label()}: {name} must be positive and finite, got {seconds}")
        check_speedup(self.speedup, self._label())
        for stream, rows in (*self.offered_rows.items(), *self.admitted_rows.items()):
            if not rows >= 0:
                raise ValueError(f"{self._label()}: stream {stream!r} cannot have {rows} rows")
        for stream, sampling_rate in self.sampling_rates.items():
            if not 0 < sampling_rate <= 1:
                raise ValueError(
                    f"{self._label()}: the sampling rate of {stream!r} must be in (0, 1], got {sampling_rate}"
                )

    @property
    def costed_rows(self) -> Mapping[str, float]:
        """As many rows, of one unit of work, as the workers that costs are known for would have read meanwhile."""
        rows = self.costed_offered_rows
        return {**rows, **{name: cost * rows[name] for name, cost in self._reading_costs.items()}}

    @property
    def costed_offered_rows(self) -> Mapping[str, float]:
        """As many rows, of one unit of work, as the workers that costs are known for would have dealt with meanwhile.

        Those that were not read are among them.
        """
        return costed(self.offered_rows, self.speedup, self.work_per_row)

    @property
    def costed_shares(self) -> dict[str, float]:
        """The share of the work on `costed_rows` that was done, by stream."""
        done = self.shares_done
        shares = {name: done.get(name, 1.0) / cost for name, cost in self._reading_costs.items()}
        return {**done, **{name: min(share, _NEARLY_ALL) for name, share in shares.items()}}

    @property
    def _reading_costs(self) -> dict[str, float]:
        """By stream that was read in part, what reading cost of all that it takes to read every row."""
        return {
            name: reading_cost(share, self.scattered_costs.get(name, scattered_cost(self.bundle_width(name))))
            for name, share in self.read_shares.items()
            if share < 1 and name in self.offered_rows
        }

    def bundle_width(self, stream: str) -> int:
        """Return how many neighboring blocks of `stream` were read together."""
        return self.bundle_widths.get(stream, 1)

    @property
    def utilization(self) -> float:
        """Processing time as a share of the trigger interval; above 1 the next micro-batch is late."""
        return self.processing_seconds / self.trigger_interval_seconds

    @property
    def shares_done(self) -> dict[str, float]:
        """The share of the work on its rows that was done, by stream."""
        return {**self.sampling_rates, **self.work_shares}

    def share_done(self, stream: str) -> float:
        """Return the share of the work on the rows of `stream` that was done."""
        return self.shares_done.get(stream, 1.0)

    def sampling_rate(self, stream: str) -> float:
        """Return the share of the rows of `stream` that its sampler kept."""
        return self.sampling_rates.get(stream, 1.0)

    def _label(self) -> str:
        return f"micro-batch {self.micro_batch_id}"
