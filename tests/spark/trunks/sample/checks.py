"""A check that scenarios share; a scenario's module imports it, and says in `ASKED` what its queries are."""

from __future__ import annotations

import pytest

from tests.spark.trunks.drawn_rows import DrawnRows
from tests.spark.trunks.outcome import Outcome
from tests.spark.trunks.sample.estimates import check_answers


def test_windows_are_answered_once_from_the_rows_that_were_to_be_kept(
    request: pytest.FixtureRequest, outcome: Outcome, rows: DrawnRows
) -> None:
    """Exact are those of windows without a micro-batch that shed, and no others."""
    for query, windows in request.module.ASKED.items():
        check_answers(outcome, rows, query, windows)
        assert {row.exact for row in outcome.rows(query)} == {True, False}, query
