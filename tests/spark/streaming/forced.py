"""A control loop that sheds what a test says; all else about a run is real."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from streamshed.control.decision import Decision, Upcoming
from streamshed.control.loop import ControlLoop

SamplingCodes = Callable[[int], Mapping[str, int]]


def force_sampling(patch: pytest.MonkeyPatch, sampling_codes: SamplingCodes) -> None:
    """Let runs started from now on use given sampling codes.

    Args:
        patch: What undoes it.
        sampling_codes: Code by stream, for each micro-batch; streams left out are planned as ever.
    """

    class ForcedLoop(ControlLoop):
        def plan(self, upcoming: Upcoming) -> Decision:
            decision = super().plan(upcoming)
            forced = {**decision.sampling_codes, **sampling_codes(upcoming.micro_batch_id)}
            return replace(decision, sampling_codes=forced)

    patch.setattr("streamshed.spark.domain_run.ControlLoop", ForcedLoop)
