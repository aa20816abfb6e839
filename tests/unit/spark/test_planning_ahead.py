"""Plans are ready before they are asked for, and what went before is taken in when it is reported."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import pytest

from streamshed.spark.planning_ahead import PlanningAhead

PATIENCE_SECONDS = 10


class Recorder:
    """What was reported last, as of each look; notes when it was looked at `looks` times."""

    def __init__(self, *reported: int, looks: int) -> None:
        self._reported = list(reported)
        self._left = looks
        self.done = threading.Event()

    def __call__(self) -> int:
        self._left -= 1
        if self._left == 0:
            self.done.set()
        return self._reported.pop(0) if len(self._reported) > 1 else self._reported[0]

    @property
    def looks_left(self) -> int:
        return self._left


def nothing_reported() -> int:
    return -1


def planner(planned: list[int], done: threading.Event) -> Callable[[int], None]:
    def plan(micro_batch_id: int) -> None:
        planned.append(micro_batch_id)
        done.set()

    return plan


def test_a_micro_batch_that_begins_is_planned() -> None:
    planned: list[int] = []
    done = threading.Event()
    PlanningAhead(planner(planned, done), nothing_reported).begins(7)
    assert done.wait(PATIENCE_SECONDS)
    assert planned == [7]


def test_whoever_tells_does_not_wait_for_the_plan() -> None:
    may_go, gone = threading.Event(), threading.Event()

    def plan(_micro_batch_id: int) -> None:
        assert may_go.wait(PATIENCE_SECONDS)
        gone.set()

    PlanningAhead(plan, nothing_reported).begins(0)
    assert not gone.is_set()
    may_go.set()
    assert gone.wait(PATIENCE_SECONDS)


def test_a_plan_that_fails_is_left_to_who_asks_for_it(caplog: pytest.LogCaptureFixture) -> None:
    failed = threading.Event()

    def plan(_micro_batch_id: int) -> None:
        failed.set()
        raise ValueError("on purpose")

    with caplog.at_level(logging.INFO):
        PlanningAhead(plan, nothing_reported).begins(0)
        assert failed.wait(PATIENCE_SECONDS)
    assert caplog.text == ""


def test_it_is_looked_until_the_micro_batch_is_reported() -> None:
    recorder = Recorder(3, 3, 4, looks=3)
    PlanningAhead(lambda _: None, recorder).ended(4)
    assert recorder.done.wait(PATIENCE_SECONDS)
    for thread in threading.enumerate():
        if thread.name == "streamshed-ahead":
            thread.join(PATIENCE_SECONDS)
    assert recorder.looks_left == 0


def test_nobody_looks_any_longer_when_the_next_begins() -> None:
    """Its plan looks itself."""
    recorder = Recorder(3, looks=2)
    ahead = PlanningAhead(lambda _: None, recorder)
    ahead.ended(4)
    assert recorder.done.wait(PATIENCE_SECONDS)
    ahead.begins(5)
    for thread in threading.enumerate():
        if thread.name == "streamshed-ahead":
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()
    left = recorder.looks_left
    assert left > -_LOOKS_IN_ALL / 2


_LOOKS_IN_ALL = 100


def test_what_cannot_be_taken_in_is_told(caplog: pytest.LogCaptureFixture) -> None:
    def record() -> int:
        raise ValueError("on purpose")

    with caplog.at_level(logging.ERROR):
        PlanningAhead(lambda _: None, record).ended(0)
        for thread in threading.enumerate():
            if thread.name == "streamshed-ahead":
                thread.join(PATIENCE_SECONDS)
    assert "will be tried again" in caplog.text
