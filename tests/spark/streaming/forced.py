"""A control loop that sheds what a test says; all else about a run is real."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from streamshed.control.decision import Decision, Upcoming
from streamshed.control.loop import ControlLoop, HeldUp, nothing_held_up
from streamshed.planning.quantization import WHOLE
from streamshed.planning.query_rates import SizedRate
from streamshed.planning.window_drop.decisions import advanced_drops
from streamshed.planning.window_drop.droppable import droppable_queries

SamplingCodes = Callable[[int], Mapping[str, int]]
SizedRates = Mapping[str, SizedRate]
KeptShares = Callable[[int], Mapping[str, float]]


def force_sampling(
    patch: pytest.MonkeyPatch,
    sampling_codes: SamplingCodes,
    sized: SizedRates | None = None,
    counting: Mapping[str, int] | None = None,
    kept_shares: KeptShares | None = None,
    work_shares: KeptShares | None = None,
) -> None:
    """Let runs started from now on use given sampling codes.

    Args:
        patch: What undoes it.
        sampling_codes: Code by stream or by query, for each micro-batch; what is left out is planned as ever.
        sized: Of queries whose rows are to be chosen by size where they are shed; of no others they are.
        counting: By query whose rows are to be counted where it is shed, the code of the rate; of no others they are.
        work_shares: By stream, for each micro-batch, the share of the work on its rows that is done; of others, as
            planned.
        kept_shares: By query, for each micro-batch, which share of its windows it keeps; of others, all.
    """

    class ForcedLoop(ControlLoop):
        def plan(self, upcoming: Upcoming, held_up_seconds: HeldUp = nothing_held_up) -> Decision:
            decision = super().plan(upcoming, held_up_seconds)
            told = sampling_codes(upcoming.micro_batch_id)
            streams = {query.name: query.stream.name for query in self._network.queries}
            forced = {
                query: told.get(query, told.get(streams[query], code)) for query, code in decision.query_codes.items()
            }
            by_size = {query: known for query, known in (sized or {}).items() if forced[query] != WHOLE}
            counted = {query: code for query, code in (counting or {}).items() if forced[query] != WHOLE}
            changed = replace(decision, query_codes=forced, sized=by_size, counting=counted)
            if work_shares is not None:
                shares = {**decision.work_shares, **work_shares(upcoming.micro_batch_id)}
                changed = replace(changed, work_shares=shares)
            if kept_shares is not None and upcoming.windows is not None:
                droppable = {one.query: one for one in droppable_queries(self._network)}
                kept = {name: kept_shares(upcoming.micro_batch_id).get(name, 1.0) for name in droppable}
                drops = advanced_drops(droppable, kept, upcoming.windows)
                changed = replace(changed, drops=drops, kept_shares=kept)
            decided = (changed if known == decision else known for known in self._state.decisions)
            self._state = replace(self._state, decisions=tuple(decided))
            return changed

    patch.setattr("streamshed.spark.domain_run.ControlLoop", ForcedLoop)
