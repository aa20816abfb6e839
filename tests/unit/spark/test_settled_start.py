"""A start waits for a query's sources: until they are made, the query has ended, or it takes too long."""

from __future__ import annotations

from typing import Any, cast

import pytest

from streamshed.spark import settled_start
from streamshed.spark.settled_start import await_sources


class Starting:
    """A query that comes one step further whenever it is asked what it does, and stays at the last.

    Args:
        steps: What it says it does.
        ends: Whether it is over when it has said all of them.
    """

    def __init__(self, steps: list[str], *, ends: bool = False) -> None:
        self._steps, self._ends = steps, ends
        self.asked = 0

    @property
    def isActive(self) -> bool:  # noqa: N802 - Spark's name
        return not (self._ends and self.asked >= len(self._steps))

    @property
    def status(self) -> dict[str, str]:
        self.asked += 1
        return {"message": self._steps[min(self.asked, len(self._steps)) - 1]}


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
    monkeypatch.setattr(settled_start, "_PATIENCE_SECONDS", 0.05)
    query = Starting(INITIALIZING)
    await_sources(cast(Any, query))
    assert query.asked > 2
