"""What a micro-batch tells, in the terms of the network."""

from __future__ import annotations

from streamshed.spark.measuring import measured
from streamshed.spark.plan_row import StreamPlan
from streamshed.statistics.measured import Measured


def told(**plans: StreamPlan) -> Measured:
    return measured({}, plans, {}, None, (), parallel_tasks=2, event_seconds=None, state_seconds=3.0)


def test_streams_are_thinned_where_rows_belonged_to_dropped_windows_only() -> None:
    found = told(dropping=StreamPlan(row_share=0.5), calm=StreamPlan(row_share=1.0), without=StreamPlan())
    assert found.thinned == {"dropping"}


def test_what_state_takes_is_told_of_micro_batches_of_which_all_rows_were_kept() -> None:
    assert told(calm=StreamPlan(row_share=1.0), without=StreamPlan()).state_seconds == 3.0
    assert told(calm=StreamPlan(), dropping=StreamPlan(row_share=0.5)).state_seconds is None
    assert told(sampled=StreamPlan(sampling_code=9)).state_seconds is None
