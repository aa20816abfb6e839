"""The plan row: all that a micro-batch is told when it starts, as the one row of the plan table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from streamshed.answering.shed_interval import ShedInterval
from streamshed.planning.quantization import WHOLE, sampling_rate_of
from streamshed.sharing.gating import Gating


@dataclass(frozen=True, kw_only=True)
class StreamPlan:
    """What one stream is told.

    Attributes:
        sampling_code: Code of the rate at which it is sampled directly behind its source.
        intake_codes: Codes of the effective sampling rates of its intakes; empty: all have the stream's.
        work_share: The share of the work on its rows that is done at those rates.
        carrier_from: Event time of the carrier in the micro-batch before, microseconds; None: nothing known yet.
        carrier_until: Up to when it brings empty answers now.
        carrier_time: Its event time now.
    """

    sampling_code: int = WHOLE
    intake_codes: tuple[int, ...] = ()
    work_share: float = 1.0
    carrier_from: int | None = None
    carrier_until: int | None = None
    carrier_time: int | None = None

    @property
    def sampling_rate(self) -> float:
        """The sampling rate that the code stands for."""
        return sampling_rate_of(self.sampling_code)

    def codes(self, gating: Gating) -> tuple[int, ...]:
        """Return the codes of all intakes.

        Args:
            gating: Of the stream.
        """
        return self.intake_codes or (self.sampling_code,) * gating.intake_count

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> StreamPlan:
        """Read what JSON kept of `vars`."""
        return cls(**{**document, "intake_codes": tuple(document["intake_codes"])})


@dataclass(frozen=True, kw_only=True)
class PlanRow:
    """The plan of one micro-batch.

    Attributes:
        micro_batch_id: Which.
        open: The watermark of the micro-batch before, microseconds.
        streams: Per stream.
        shed: What was shed of late, this micro-batch included.
        decided_at_seconds: When, seconds since the epoch.
        latest_event: Per stream, its latest event time known, microseconds.
        active_at_seconds: Per stream, when it last had rows.
    """

    micro_batch_id: int
    open: int
    streams: Mapping[str, StreamPlan]
    shed: tuple[ShedInterval, ...] = ()
    decided_at_seconds: float = 0.0
    latest_event: Mapping[str, int] = field(default_factory=dict)
    active_at_seconds: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> str:
        """Write the row as a JSON object."""
        return json.dumps(
            {
                "micro_batch_id": self.micro_batch_id,
                "open": self.open,
                "streams": {name: vars(plan) for name, plan in self.streams.items()},
                "shed": [vars(interval) for interval in self.shed],
                "decided_at_seconds": self.decided_at_seconds,
                "latest_event": dict(self.latest_event),
                "active_at_seconds": dict(self.active_at_seconds),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> PlanRow:
        """Read what `to_json` wrote."""
        document = json.loads(text)
        return cls(
            micro_batch_id=document["micro_batch_id"],
            open=document["open"],
            streams={name: StreamPlan.from_document(plan) for name, plan in document["streams"].items()},
            shed=tuple(ShedInterval(**interval) for interval in document["shed"]),
            decided_at_seconds=document["decided_at_seconds"],
            latest_event=document["latest_event"],
            active_at_seconds=document["active_at_seconds"],
        )
