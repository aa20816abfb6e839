"""When a recording is through, and when waiting for it is given up."""

from __future__ import annotations

from typing import Any, cast

import pytest

from streamshed_bench.errors import UnfinishedBenchmarkError
from streamshed_bench.runs.recorded_run import await_answers


class Played:
    """A query that has finished one more micro-batch whenever it is asked.

    Args:
        rows: Of its micro-batches, in order.
        failure: What it fails with after the last of them.
    """

    def __init__(self, rows: list[int], failure: str | None = None) -> None:
        self._rows, self._failure = rows, failure
        self.finished = 0

    @property
    def recentProgress(self) -> list[dict[str, int]]:  # noqa: N802 - Spark's name
        self.finished = min(self.finished + 1, len(self._rows))
        return [{"numInputRows": count} for count in self._rows[: self.finished]]

    def exception(self) -> str | None:
        return self._failure if self.finished == len(self._rows) else None


def test_rows_are_waited_for_and_the_windows_that_they_close() -> None:
    query = Played([1, 0, 500, 1, 400, 0, 1, 1, 1])
    await_answers(cast(Any, query))
    assert query.finished == 7


def test_a_query_that_fails_is_not_waited_for() -> None:
    with pytest.raises(UnfinishedBenchmarkError, match="the query has failed: no disk"):
        await_answers(cast(Any, Played([500, 1], failure="no disk")))


def test_a_query_without_rows_is_given_up() -> None:
    with pytest.raises(UnfinishedBenchmarkError, match=r"not taken within 0\.2 seconds"):
        await_answers(cast(Any, Played([0, 1])), patience_seconds=0.2)
