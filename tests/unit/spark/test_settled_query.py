"""What Spark does for a query beside us is waited for: until it is done, the query has ended, or it takes too long."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, cast

import pytest

from streamshed.spark import settled_query
from streamshed.spark.settled_query import await_report, await_sources

Said = TypeVar("Said")


class Query(Generic[Said]):
    """A query that comes one step further whenever it is asked, and stays at the last.

    Args:
        steps: What it says.
        ends: Whether it is over when it has said all of it.
    """

    def __init__(self, steps: list[Said], *, ends: bool = False) -> None:
        self._steps, self._ends = steps, ends
        self.asked = 0

    @property
    def isActive(self) -> bool:  # noqa: N802 - Spark's name
        return not (self._ends and self.asked >= len(self._steps))

    def next_step(self) -> Said:
        self.asked += 1
        return self._steps[min(self.asked, len(self._steps)) - 1]


class Starting(Query[str]):
    """Says what it does."""

    @property
    def status(self) -> dict[str, str]:
        return {"message": self.next_step()}


INITIALIZING = ["Initializing StreamExecution", "Initializing sources"]


def test_sources_are_waited_for_and_nothing_else() -> None:
    query = Starting([*INITIALIZING, "Processing new data", "Waiting for data to arrive"])
    await_sources(cast(Any, query))
    assert query.asked == 3


def test_a_query_that_ends_is_not_waited_for() -> None:
    query = Starting(INITIALIZING, ends=True)
    await_sources(cast(Any, query))
    assert query.asked == 2


def test_sources_that_take_too_long_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settled_query, "_PATIENCE_SECONDS", 0.05)
    query = Starting(INITIALIZING)
    await_sources(cast(Any, query))
    assert query.asked > 2


class Reporting(Query[int | None]):
    """Says which micro-batch it has reported last; None: none yet."""

    @property
    def lastProgress(self) -> dict[str, int] | None:  # noqa: N802 - Spark's name
        number = self.next_step()
        return None if number is None else {"batchId": number}


def test_a_report_is_waited_for_and_not_that_of_the_micro_batch_before() -> None:
    query = Reporting([None, 6, 6, 7, 8])
    await_report(cast(Any, query), 7)
    assert query.asked == 4


def test_a_query_that_ends_without_a_report_is_not_waited_for() -> None:
    query = Reporting([None, 6], ends=True)
    await_report(cast(Any, query), 7)
    assert query.asked == 2


def test_a_report_that_takes_too_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settled_query, "_REPORT_SECONDS", 0.05)
    query = Reporting([6])
    await_report(cast(Any, query), 7)
    assert query.asked > 2
