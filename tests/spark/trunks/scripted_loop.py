"""A control loop that sheds what scenarios say, step by step; all else about a run is real."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from streamshed.control.decision import Decision, Upcoming
from streamshed.control.loop import ControlLoop, HeldUp, nothing_held_up
from streamshed.joins.choose.directive import JoinDirective
from streamshed.joins.learn.knowledge import JoinKnowledge
from streamshed.network.terms.cohorts import part_name
from streamshed.planning.tree.quantization import WHOLE
from streamshed.planning.window_drop.track.decisions import advanced_drops
from streamshed.planning.window_drop.track.droppable import DroppableQuery, droppable_queries
from streamshed.planning.window_drop.track.window_drops import WindowDrops
from streamshed.planning.window_drop.windows.runs import runs_of
from streamshed.spark.checkpoint.checkpoint_reader import files_of
from streamshed.spark.checkpoint.storage import Storage
from streamshed.spark.windows.manifest import read_manifest
from tests.spark.event_times import EPOCH_MICROSECONDS
from tests.spark.trunks.scenario import NOTHING_SHED, Shed
from tests.spark.trunks.trunk import Cast


def step_of(checkpoint: Path, micro_batch_id: int) -> int | None:
    """The step whose files a micro-batch reads, as the checkpoint of a clock has it; None: it reads none.

    A query that is stopped while it looks for files may read those of two steps in its next micro-batch: that is the
    earlier one then.
    """
    return min((step for _, step in steps_read(checkpoint, micro_batch_id)), default=None)


def steps_read(checkpoint: Path, micro_batch_id: int) -> list[tuple[str, int]]:
    """The streams and steps of which a micro-batch reads files, as the checkpoint of a clock has it."""
    storage = Storage.at(str(checkpoint))
    manifest = read_manifest(storage)
    assert manifest is not None
    files = files_of(storage.below("spark"), micro_batch_id, manifest.places)
    paths = [Path(unquote(urlsplit(uri).path)) for uris in files.values() for uri in uris]
    return [(path.parent.name, int(path.stem)) for path in paths if path.stem.isdigit()]


def with_dropped(drops: WindowDrops, query: DroppableQuery, starts: Sequence[float]) -> WindowDrops:
    """Drop windows of a query, by the second they start at."""
    name = part_name(query.definition_id, None)
    before = drops.queries[name]
    numbers = {
        (EPOCH_MICROSECONDS + round(start * 1e6) - query.window.offset_microseconds) // query.window.slide_microseconds
        for start in starts
    }
    dropped = tuple(runs_of(sorted(numbers | set(before.numbers()))))
    return replace(drops, queries={**drops.queries, name: replace(before, dropped=dropped)})


def script(patch: pytest.MonkeyPatch, cast: Cast, start: int = 0) -> None:
    """Let runs that are started from now on shed what the scenarios say, and nothing else.

    What the killed process has decided on holds for its last micro-batch: a later one that decided anew would shed
    nothing of that.

    Args:
        patch: What undoes it.
        cast: The scenarios.
        start: How often the trunk was started before.
    """
    first_clock = cast.network(start).time_domains[0].clock

    def shed_in(step: int | None, clock: str) -> Shed:
        is_decided = start > 0 and (clock, step) == (first_clock, cast.trunk.killed_in)
        return NOTHING_SHED if step is None or is_decided else cast.shed(step)

    class ScriptedLoop(ControlLoop):
        def plan(self, upcoming: Upcoming, held_up_seconds: HeldUp = nothing_held_up) -> Decision:
            decision = super().plan(upcoming, held_up_seconds)
            clock = self._network.streams[0].clock
            step = step_of(cast.checkpoint / clock, upcoming.micro_batch_id)
            changed = self._changed(decision, shed_in(step, clock), upcoming)
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
                read_shares=shed.read_shares,
                bundle_widths=shed.bundle_widths,
                work_shares={name: shed.work_shares.get(name, 1.0) for name in decision.work_shares},
            )
            if upcoming.windows is None:
                return changed
            droppable = {one.query: one for one in droppable_queries(self._network)}
            kept = {name: shed.kept_shares.get(name, 1.0) for name in droppable}
            drops = advanced_drops(droppable, kept, upcoming.windows)
            for query in droppable.keys() & shed.dropped.keys():
                drops = with_dropped(drops, droppable[query], shed.dropped[query])
            return replace(changed, drops=drops, kept_shares=kept)

    patch.setattr("streamshed.spark.loop.learned_files.ControlLoop", ScriptedLoop)
    patch.setattr(JoinKnowledge, "directive", _cut_anew(JoinKnowledge.directive))


def _cut_anew(directive: Callable[..., JoinDirective]) -> Callable[..., JoinDirective]:
    """Let joins that are shed cut what they store anew in every micro-batch, to twice the size and back."""

    def other_size(known: JoinKnowledge, *arguments: Any, micro_batch_id: int, **settings: Any) -> JoinDirective:
        told = directive(known, *arguments, micro_batch_id=micro_batch_id, **settings)
        return replace(told, basic_multiple=1 + micro_batch_id % 2)

    return other_size
