"""What the state after a micro-batch says of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from streamshed.spark.loop.run_status import JoinStatus, RunStatus

JOIN = JoinStatus(
    work_share=1.0,
    left_share=1.0,
    right_share=1.0,
    yields=(),
    comparisons=9.0,
    results=3.0,
    weight=3.0,
    late_rows=0,
    stored_rows=5,
    stored_bytes=500,
    released_rows=0,
)
WHOLE: dict[str, Any] = {
    "sampling_rates": {"packets": 1.0},
    "effective_sampling_rates": {"q": 1.0},
    "kept_shares": {"q": 1.0},
    "joins": {"pairs": JOIN},
}


def test_nothing_is_shed_where_everything_is_kept() -> None:
    assert not RunStatus(clock="time", **WHOLE).is_shedding


@pytest.mark.parametrize(
    "lost",
    [
        {"sampling_rates": {"packets": 0.5}},
        {"effective_sampling_rates": {"q": 0.5}},
        {"kept_shares": {"q": 0.5}},
        {"skipped_rows": 3},
        {"joins": {"pairs": replace(JOIN, work_share=0.5)}},
        {"joins": {"pairs": replace(JOIN, released_rows=2)}},
        {"joins": {"pairs": replace(JOIN, missed_results=2)}},
    ],
    ids=str,
)
def test_each_thing_that_is_lost_is_shed(lost: dict[str, Any]) -> None:
    assert RunStatus(clock="time", **(WHOLE | lost)).is_shedding
