"""Plans are ready before they are asked for, and what went before is taken in when it is reported."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field

import pytest

from streamshed.spark.loop.planning_ahead import PlanningAhead, Questions

PATIENCE_SECONDS = 30
ENDED = 4


@dataclass
class Domain:
    """A time domain of which micro-batches are reported and come when it has been looked for them so often."""

    reported_at_look: int = 1
    written_at_look: int = 1
    looks_for_reports: int = 0
    looks_for_coming: int = 0
    planned: list[int] = field(default_factory=list)
    has_looked: threading.Event = field(default_factory=threading.Event)
    has_paused: threading.Event = field(default_factory=threading.Event)

    def record_last(self) -> int:
        """Only the one before is reported at first."""
        self.looks_for_reports += 1
        self.has_looked.set()
        return ENDED if self.looks_for_reports >= self.reported_at_look else ENDED - 1

    def is_written(self, micro_batch_id: int) -> bool:
        """The next one comes at some time."""
        assert micro_batch_id == ENDED + 1
        self.looks_for_coming += 1
        if self.looks_for_coming == 200:
            self.has_paused.set()
        return self.looks_for_coming >= self.written_at_look

    def ahead(self, *, is_dear: bool = False, now: float = 0.0, interval: float = 2.0) -> PlanningAhead:
        """Let it be planned ahead."""
        is_written = None if is_dear else self.is_written
        questions = Questions(record_last=self.record_last, is_written=is_written, plan=self.planned.append)
        return PlanningAhead(questions, interval, clock=lambda: now)


def followed() -> None:
    """Wait for what goes on beside."""
    for thread in threading.enumerate():
        if thread.name == "streamshed-ahead":
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()


def test_the_next_is_planned_when_it_is_known_how_the_last_one_went_and_what_is_to_be_read() -> None:
    domain = Domain(reported_at_look=3, written_at_look=5)
    domain.ahead().ended(ENDED)
    followed()
    assert (domain.looks_for_reports, domain.looks_for_coming, domain.planned) == (3, 5, [ENDED + 1])


def test_what_comes_with_the_next_trigger_is_not_looked_for_until_then() -> None:
    """It is looked for 200 times at once; the trigger comes a tenth of a second before the interval ends."""
    domain = Domain(written_at_look=203)
    domain.ahead(now=599.9, interval=600.0).ended(ENDED)
    followed()
    assert (domain.looks_for_coming, domain.planned) == (203, [ENDED + 1])


def test_what_never_comes_is_given_up() -> None:
    domain = Domain(written_at_look=1_000_000)
    domain.ahead(now=599.9, interval=600.0).ended(ENDED)
    followed()
    assert (domain.looks_for_coming, domain.planned) == (400, [])


def test_where_looking_is_dear_only_reports_are_taken_in() -> None:
    domain = Domain(reported_at_look=2)
    domain.ahead(is_dear=True).ended(ENDED)
    followed()
    assert (domain.looks_for_reports, domain.planned) == (2, [])


def test_nothing_is_followed_any_longer_when_it_is_closed() -> None:
    domain = Domain(reported_at_look=1_000_000)
    ahead = domain.ahead()
    ahead.ended(ENDED)
    assert domain.has_looked.wait(PATIENCE_SECONDS)
    ahead.close()
    followed()
    assert domain.looks_for_reports < 200


def test_a_trigger_far_away_does_not_keep_a_run_from_closing() -> None:
    domain = Domain(written_at_look=1_000_000)
    ahead = domain.ahead(now=1.0, interval=100_000.0)
    ahead.ended(ENDED)
    assert domain.has_paused.wait(PATIENCE_SECONDS)
    ahead.close()
    followed()
    assert domain.planned == []


def test_what_fails_is_left_to_who_asks_for_the_plan(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> int:
        raise ValueError("on purpose")

    with caplog.at_level(logging.INFO):
        questions = Questions(record_last=fail, is_written=None, plan=lambda _: None)
        PlanningAhead(questions, 1.0).ended(ENDED)
        followed()
    assert caplog.text == ""
