"""How much the groups in open windows, and the rows that aggregates of users collect, take."""

from __future__ import annotations

from dataclasses import dataclass, replace

from streamshed.statistics.micro_batch import MicroBatchOutcome

KEPT = 0.9
"""What is left of a measurement's weight one micro-batch later: ten micro-batches count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSize:
    """What state holds: so many entries, each as large as those that were written lately are on average.

    How much memory a state store takes says little of that: RocksDB fills its buffers before it writes them to disk,
    and what was removed stays in them until then.

    Attributes:
        entries: How many there are.
        written_entries: How many were written, older ones with less weight.
        written_bytes: How large these were, together.
        micro_batches: In how many micro-batches, likewise weighted.

    Example:
        >>> outcome = MicroBatchOutcome(
        ...     micro_batch_id=7, offered_rows={}, admitted_rows={}, sampling_rates={}, processing_seconds=1.0,
        ...     trigger_interval_seconds=2.0, started_at_seconds=14.0,
        ...     state_entries=1000, state_written_entries=10, state_written_bytes=2000,
        ... )
        >>> StateSize().updated(outcome).total_bytes
        200000
        >>> StateSize().written_at_once, StateSize().updated(outcome).updated(outcome).written_at_once
        (0.0, 10.0)
    """

    entries: int = 0
    written_entries: float = 0.0
    written_bytes: float = 0.0
    micro_batches: float = 0.0

    @property
    def written_at_once(self) -> float:
        """How many entries a micro-batch writes, on average."""
        return self.written_entries / max(1.0, self.micro_batches)

    @property
    def total_bytes(self) -> int:
        """How much all of them take."""
        return round(self.entries * self.written_bytes / self.written_entries) if self.written_entries > 0 else 0

    def updated(self, outcome: MicroBatchOutcome) -> StateSize:
        """Take in what a micro-batch left and wrote."""
        return replace(
            self,
            entries=outcome.state_entries,
            written_entries=KEPT * self.written_entries + outcome.state_written_entries,
            written_bytes=KEPT * self.written_bytes + outcome.state_written_bytes,
            micro_batches=KEPT * self.micro_batches + 1,
        )
