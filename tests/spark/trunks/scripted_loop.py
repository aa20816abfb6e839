"""A control loop that sheds what scenarios say, step by step; all else about a run is real."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from streamshed.control.decision import Decision, Upcoming
from streamshed.control.loop import ControlLoop, HeldUp, nothing_held_up
from streamshed.planning.quantization import WHOLE
from streamshed.planning.window_drop.decisions import advanced_drops
from streamshed.planning.window_drop.droppable import droppable_queries
from streamshed.spark.checkpoint_reader import files_of
from streamshed.spark.storage import Storage
from tests.spark.trunks.scenario import NOTHING_SHED, Shed
from tests.spark.trunks.trunk import Cast


def step_of(checkpoint: Path, micro_batch_id: int) -> int | None:
    """The step whose files a micro-batch reads, as the checkpoint of a clock has it; None: it reads none.

    A query that is stopped while it looks for files may read those of two steps in its next micro-batch: that is the
    earlier one then.
    """
    sources = files_of(Storage.at(str(checkpoint / "spark")), micro_batch_id)
    names = [Path(unquote(urlsplit(uri).path)).stem for source in sources for uri in source.paths]
    return min((int(name) for name in names if name.isdigit()), default=None)


def script(patch: pytest.MonkeyPatch, cast: Cast) -> None:
    """Let runs that are started from now on shed what the scenarios say, and nothing else.

    Args:
        patch: What undoes it.
        cast: The scenarios.
    """

    class ScriptedLoop(ControlLoop):
        def plan(self, upcoming: Upcoming, held_up_seconds: HeldUp = nothing_held_up) -> Decision:
            decision = super().plan(upcoming, held_up_seconds)
            clock = self._network.streams[0].clock
            step = step_of(cast.checkpoint / clock, upcoming.micro_batch_id)
            changed = self._changed(decision, NOTHING_SHED if step is None else cast.shed(step), upcoming)
            decisions = (changed if earlier == decision else earlier for earlier in self._state.decisions)
            self._state = replace(self._state, decisions=tuple(decisions))
            return changed

        def _changed(self, decision: Decision, shed: Shed, upcoming: Upcoming) -> Decision:
            codes = {query: shed.codes.get(query, WHOLE) for query in decision.query_codes}
            changed = replace(
                decision,
                query_codes=codes,
                sized={name: rate for name, rate in shed.sized.items() if codes.get(name, WHOLE) != WHOLE},
                counting={name: code for name, code in shed.counting.items() if codes.get(name, WHOLE) != WHOLE},
                work_shares={name: shed.work_shares.get(name, 1.0) for name in decision.work_shares},
            )
            if upcoming.windows is None:
                return changed
            droppable = {one.query: one for one in droppable_queries(self._network)}
            kept = {name: shed.kept_shares.get(name, 1.0) for name in droppable}
            return replace(changed, drops=advanced_drops(droppable, kept, upcoming.windows), kept_shares=kept)

    patch.setattr("streamshed.spark.domain_run.ControlLoop", ScriptedLoop)
