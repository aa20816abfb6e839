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
        sampling_codes: Code by stream or by query, for each micro-batch; what is left out is planned as ever.
    """

    class ForcedLoop(ControlLoop):
        def plan(self, upcoming: Upcoming) -> Decision:
            decision = super().plan(upcoming)
            told = sampling_codes(upcoming.micro_batch_id)
            streams = {query.name: query.stream.name for query in self._network.queries}
            forced = {
                query: told.get(query, told.get(streams[query], code)) for query, code in decision.query_codes.items()
            }
            changed = replace(decision, query_codes=forced)
            decided = (changed if known == decision else known for known in self._state.decisions)
            self._state = replace(self._state, decisions=tuple(decided))
            return changed

    patch.setattr("streamshed.spark.domain_run.ControlLoop", ForcedLoop)
