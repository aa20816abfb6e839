"""How one time domain of a network is to run."""

from __future__ import annotations

from dataclasses import dataclass, field

from streamshed.control.settings import ControlSettings
from streamshed.control.shared_time import ClockTime
from streamshed.spark.checkpoint.state_layout import StateLayout
from streamshed.spark.cluster.domain_scaling import DomainWorkers
from streamshed.spark.loop.domain_needs import NeedsSettings


@dataclass(frozen=True, kw_only=True)
class DomainSettings:
    """How a time domain is to run.

    Attributes:
        checkpoint: Its folder.
        control: What the control loop is asked.
        time: Its part of the time of the workers.
        partitions: State partitions of a new checkpoint.
        set_aside_limit_bytes: How much its unreadable rows may take on disk.
        layout: What state is reserved for, beyond what the queries need.
        workers: Those it shares, and how their number is decided; None: that is fixed.
        needs: How it and other networks tell each other what they need.
    """

    checkpoint: str
    control: ControlSettings
    time: ClockTime
    partitions: int
    set_aside_limit_bytes: int
    layout: StateLayout
    workers: DomainWorkers | None = None
    needs: NeedsSettings = field(default_factory=NeedsSettings)

    @property
    def set_aside(self) -> str:
        """The folder for rows that cannot be read."""
        return f"{self.checkpoint}/set_aside"
