"""What is learned of blocks decides how many of them are read."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace

from streamshed.columnar.block_spread import BlockSpread
from streamshed.control.decision import Upcoming
from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.control.shared_time import Allotment, OwnTime
from streamshed.control.steps.estimate import Request
from streamshed.control.steps.expect import MOST_WRITTEN
from streamshed.network.model.network import network
from streamshed.network.run.load_prior import LoadPrior
from streamshed.planning.explain.clock_work import ClockWork
from streamshed.planning.plan.blocks_read import LEAST_BUNDLES, WIDEST
from streamshed.planning.window_drop.choose.drop_plan import PATIENCE, PATIENCE_WHEN_CLEAR
from streamshed.planning.window_drop.track.decisions import UpcomingWindows
from streamshed.planning.window_drop.track.open_windows import EventTimes
from streamshed.planning.window_drop.track.window_drops import NOTHING_DROPPED, WindowDrops
from streamshed.statistics.design_effects import design_effects
from streamshed.statistics.measured import Measured
from streamshed.statistics.task_report import TaskReport
from tests.unit.control.examples import outcome, upcoming
from tests.unit.planning.networks import rows_of

ASKED = network(rows_of("packets").window("1 minute").agg(n="count(*)").query("all"))
SETTINGS = ControlSettings(
    trigger_interval_seconds=2.0, prior=LoadPrior(fixed_seconds=0.2, seconds_per_row=1e-6, read_share=0.15)
)
ROWS, CALM = {"packets": 10_000_000}, {"packets": 100_000}


def _learned(*spreads: BlockSpread, written: int = 0) -> ControlLoop:
    """A loop after calm micro-batches whose tasks have looked at blocks, and which wrote so many groups into state."""
    loop = ControlLoop(ASKED, SETTINGS, lambda: 99.0)
    for number, spread in enumerate(spreads):
        loop.plan(upcoming(number, {"packets": 100_000}))
        calm = replace(outcome(number, {"packets": 100_000}, {}, 0.3), state_written_entries=written)
        loop.record(calm, Measured(task_reports={"packets": TaskReport(spread)}))
    return loop


def _read_share(loop: ControlLoop) -> float:
    decision = loop.plan(replace(upcoming(9, ROWS), blocks={"packets": 100_000}))
    return decision.read_shares.get("packets", 1.0)


def test_where_rows_of_blocks_are_alike_more_are_read_in_the_first_micro_batch_of_a_burst() -> None:
    in_no_order, alike = (_learned(BlockSpread(effect, 1.0)) for effect in (1.0, 3000.0))
    assert _read_share(in_no_order) < 0.2
    assert _read_share(alike) > 1.3 * _read_share(in_no_order)


def test_neighbors_are_read_together_where_blocks_hardly_differ() -> None:
    widths = []
    for effect in (1.0, 30.0):
        loop = _learned(BlockSpread(effect, 1.0))
        decision = loop.plan(replace(upcoming(9, ROWS), blocks={"packets": 100_000}))
        widths.append(decision.bundle_widths)
    assert widths == [{"packets": WIDEST}, {"packets": 1}]
    few = _learned(BlockSpread(1.0, 1.0)).plan(replace(upcoming(9, ROWS), blocks={"packets": 600}))
    assert few.read_shares["packets"] * 600 < 2 * LEAST_BUNDLES < 600
    assert few.bundle_widths == {"packets": 1}


def test_everything_is_read_while_each_micro_batch_writes_many_groups_into_state() -> None:
    calm = [BlockSpread(1.0, 1.0)] * 3
    assert _read_share(_learned(*calm, written=MOST_WRITTEN)) == _read_share(_learned(*calm)) < 0.2
    assert _read_share(_learned(*calm, written=MOST_WRITTEN + 1)) == 1


def test_micro_batches_count_by_what_they_tell_and_the_latest_most() -> None:
    loop = _learned(BlockSpread(10.0, 1.0), BlockSpread(2.0, 1.0), BlockSpread())
    effects = design_effects(loop.state.learned.block_spreads)
    assert effects == {"packets": (0.9 * 10.0 + 2.0) / (0.9 + 1.0)}


def test_it_is_kept_for_the_next_process() -> None:
    loop = _learned(BlockSpread(1.0, 1.0))
    restored = ControlLoop.from_json(loop.to_json(), network=ASKED, settings=SETTINGS, clock=time.time)
    assert restored.state.learned.block_spreads == {"packets": {"of_blocks": 1.0, "of_rows": 1.0}}
    assert _read_share(restored) == _read_share(loop)


def _course(
    settings: ControlSettings, course: Iterable[Mapping[str, int]], time: OwnTime | None = None
) -> tuple[list[float], list[float]]:
    """By micro-batch, the share that is read, and that of the windows that a query keeps which tolerates gaps."""
    largest = rows_of("packets").window("10 seconds").agg(most="max(value)").query("largest", mode="subset", max_gap=4)
    loop = ControlLoop(network(*ASKED.queries, largest), settings, lambda: 99.0, time)
    drops, read, kept = NOTHING_DROPPED, [], []
    for number, rows in enumerate(map(dict, course)):
        times = EventTimes(opened=number * 10**7, carried_since=0, first=number * 10**7, last=(number + 1) * 10**7 - 1)
        windows = UpcomingWindows(event_times={"packets": times}, drops=drops)
        decision = loop.plan(replace(upcoming(number, rows), blocks={"packets": 100_000}, windows=windows))
        read.append(decision.read_shares.get("packets", 1.0))
        kept.append(decision.kept_shares["largest"])
        drops = WindowDrops.from_document(decision.drops.to_document())
        took = outcome(number, rows, dict(decision.work_shares), max(0.1, decision.expected_seconds))
        loop.record(replace(took, read_shares={"packets": read[-1]}), Measured())
    return read, kept


READING = LoadPrior(fixed_seconds=0.2, seconds_per_row=1e-6, read_share=0.9, is_measured=True)
READERS = replace(SETTINGS, prior=READING)
"""Where reading is most of what rows cost."""


def test_everything_is_read_for_a_window_that_is_kept_and_blocks_are_left_unread_between() -> None:
    """Of 2.2 million rows 2 s of reading do not fit into 2 s, but every fifth time they do, as four may be missed."""
    read, kept = _course(READERS, [{"packets": 2_200_000}] * 30 + [CALM])
    assert kept == [0.2] * 30 + [1.0]
    assert [number for number, share in enumerate(read) if share == 1] == [4, 9, 14, 19, 24, 29, 30]
    assert max(share for share in read if share < 1) < 0.7


def test_windows_are_given_up_where_reading_for_as_few_as_may_be_lasts_no_time() -> None:
    """They come back once there is time for the least in `PATIENCE` micro-batches in a row."""
    for settings in (SETTINGS, READERS):
        read, kept = _course(settings, [ROWS] * 30 + [CALM] * 10)
        shut = 30 + PATIENCE - PATIENCE_WHEN_CLEAR
        assert kept == [0.2] * (PATIENCE_WHEN_CLEAR - 1) + [0.0] * shut + [1.0] * (11 - PATIENCE)
        assert max(read[:30]) < 0.8
        assert read[30:] == [1.0] * 10


def test_windows_for_which_rows_of_five_micro_batches_would_wait_are_given_up_at_once() -> None:
    """Not in the first micro-batch of all, which may bring what has waited while nothing ran."""
    flood = {"packets": 10 * ROWS["packets"]}
    _, kept = _course(READERS, [CALM] * 5 + [flood] * 2)
    assert kept == [1.0] * 5 + [0.0] * 2
    _, kept = _course(READERS, [flood, CALM, CALM])
    assert kept == [0.2, 1.0, 1.0]


class PartOfTheTime:
    """Time of which another clock has the rest.

    Args:
        share: The part.
    """

    def __init__(self, share: float) -> None:
        self._share = share

    def allotment(self, _work: ClockWork) -> Allotment:
        """Return the part, whatever is asked for."""
        return Allotment(0.8, self._share)


def test_a_clock_waits_for_windows_as_long_as_its_part_of_five_micro_batches_takes() -> None:
    for share, kept_in_flood in ((1.0, 0.2), (0.5, 0.0)):
        _, kept = _course(READERS, [CALM] * 5 + [{"packets": 20_000_000}], PartOfTheTime(share))
        assert kept == [1.0] * 5 + [kept_in_flood]


def test_rows_took_as_long_to_come_as_a_slow_first_micro_batch_worked_and_of_it_nothing_is_known() -> None:
    """Though the rows that came while it worked are not given up for it, they took as long as it did to come."""
    loop = ControlLoop(ASKED, SETTINGS, lambda: 99.0)

    def interval_seconds(coming: Upcoming) -> float | None:
        return Request(ASKED, SETTINGS, loop.state, coming, 0.0).interval_seconds

    assert interval_seconds(upcoming(0, CALM)) is None
    loop.plan(upcoming(0, CALM))
    loop.record(replace(outcome(0, CALM, {}, 28.0), is_cold=True), Measured())
    assert interval_seconds(replace(upcoming(1, CALM), now_seconds=30.0)) == 28.0
    assert interval_seconds(replace(upcoming(1, CALM), now_seconds=2.5)) == SETTINGS.trigger_interval_seconds


def test_windows_are_not_given_up_for_what_is_fixed() -> None:
    read, kept = _course(replace(READERS, prior=replace(READING, fixed_seconds=20.0)), [CALM] * 20)
    assert kept == read == [1.0] * 20
