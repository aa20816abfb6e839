"""The promises have teeth: loops that are broken on purpose break them."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from streamshed.control.decision import Decision, Upcoming
from streamshed.control.journal import JournalEntry
from streamshed.control.loop import ControlLoop
from streamshed.control.regulator import RegulatorSettings
from streamshed.simulator.engine import Controller
from streamshed.statistics.micro_batch import MicroBatchOutcome
from tests.property.control.promises import broken, run_burst
from tests.property.control.worlds import PLAIN, World

WORLDS = [
    replace(
        PLAIN,
        overload=overload,
        row_wrong_by=wrong_by,
        read_share=read_share,
        calm_micro_batches=10,
        offset_seconds=0.7,
    )
    for overload in (1.6, 4.0)
    for wrong_by in (1 / 3, 3.0)
    for read_share in (0.05, 0.15)
]


class YesterdaysSizes:
    """Feed-forward off: every micro-batch is planned with the size of the one before."""

    def __init__(self, loop: ControlLoop) -> None:
        self._loop = loop
        self._last_rows: dict[str, int] = {}

    def plan(self, upcoming: Upcoming) -> Decision:
        stale = replace(upcoming, offered_rows=self._last_rows or upcoming.offered_rows)
        self._last_rows = dict(upcoming.offered_rows)
        return self._loop.plan(stale)

    def record(self, outcome: MicroBatchOutcome) -> JournalEntry:
        return self._loop.record(outcome)


class Unteachable:
    """Learns nothing: every outcome is replaced by what was expected."""

    def __init__(self, loop: ControlLoop) -> None:
        self._loop = loop
        self._expected_seconds = 0.0

    def plan(self, upcoming: Upcoming) -> Decision:
        decision = self._loop.plan(upcoming)
        self._expected_seconds = decision.expected_seconds
        return decision

    def record(self, outcome: MicroBatchOutcome) -> JournalEntry:
        return self._loop.record(replace(outcome, processing_seconds=self._expected_seconds))


def healthy(world: World) -> Controller:
    return world.loop()


def overexcited(world: World) -> Controller:
    """A total gain of 1.9."""
    return world.loop(regulator=RegulatorSettings(proportional_gain=0.6, integral_gain=1.3))


def without_feed_forward(world: World) -> Controller:
    return YesterdaysSizes(world.loop())


def unteachable(world: World) -> Controller:
    return Unteachable(world.loop())


def promises_broken_by(controller: Callable[[World], Controller]) -> set[str]:
    runs = (run_burst(world, controller=controller(world)) for world in WORLDS)
    return {name for run in runs for name in broken(run)}


@pytest.mark.parametrize(
    ("controller", "expected"),
    [
        (overexcited, "rates_do_not_oscillate"),
        (without_feed_forward, "the_first_overloaded_micro_batch_is_shed_already"),
        (unteachable, "none_is_late_from_the_fourth_on"),
        (unteachable, "no_more_is_shed_than_the_load_asks"),
    ],
)
def test_a_broken_loop_breaks_its_promises(controller: Callable[[World], Controller], expected: str) -> None:
    assert expected in promises_broken_by(controller)


def test_the_same_worlds_are_no_trouble_for_the_loop_as_it_is() -> None:
    assert promises_broken_by(healthy) == set()
